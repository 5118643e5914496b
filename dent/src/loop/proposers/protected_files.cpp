// SPDX-License-Identifier: MIT
#include "loop/proposers/protected_files.h"

#include <sys/stat.h>

#include "base/sha256.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

std::string hash_of(const std::string& path, unsigned mode) {
  std::error_code ignored;
  return S_ISLNK(mode) ? fs::read_symlink(path, ignored).string() : sha256_of_file(path);
}

}  // namespace

void ProtectedFiles::protect(const fs::path& place, Excepted excepted) {
  places_.push_back({place, std::move(excepted)});
}

void ProtectedFiles::look(const Place& place, std::map<std::string, Identity>& found) {
  struct stat about {};
  if (lstat(place.path.c_str(), &about) != 0 || (place.excepted && place.excepted(place.path))) return;
  if (S_ISDIR(about.st_mode)) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(place.path, ignored))
      look({entry.path(), place.excepted}, found);
    return;
  }
  constexpr std::int64_t kBillion = 1'000'000'000;
  found[place.path.string()] = {.size = about.st_size,
                                .changed_ns = about.st_ctim.tv_sec * kBillion + about.st_ctim.tv_nsec,
                                .inode = about.st_ino,
                                .mode = about.st_mode};
}

std::map<std::string, ProtectedFiles::Identity> ProtectedFiles::look_all() const {
  std::map<std::string, Identity> found;
  for (const Place& place : places_) look(place, found);
  return found;
}

void ProtectedFiles::remember() {
  std::map<std::string, Seen> now;
  for (const auto& [path, identity] : look_all()) {
    const auto known = before_.find(path);
    const bool same = known != before_.end() && known->second.identity == identity;
    now[path] = {identity, same ? known->second.hash : hash_of(path, identity.mode)};
  }
  before_ = std::move(now);
}

std::vector<std::string> ProtectedFiles::touched() const {
  const auto now = look_all();
  std::vector<std::string> found;
  for (const auto& [path, seen] : before_) {
    const auto still = now.find(path);
    if (still == now.end()) {
      found.push_back("removed " + path);
    } else if (still->second.mode != seen.identity.mode ||
               (still->second != seen.identity && hash_of(path, seen.identity.mode) != seen.hash)) {
      found.push_back("changed " + path);
    }
  }
  for (const auto& [path, identity] : now) {
    if (!before_.contains(path)) found.push_back("added " + path);
  }
  return found;
}

}  // namespace dent

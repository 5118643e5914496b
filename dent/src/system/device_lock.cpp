// SPDX-License-Identifier: MIT
#include "system/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& device) {
  std::string name = fmt::format("dent-device-{}-", getuid());
  for (const char c : device) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += plain ? c : '_';
  }
  return name;
}

// Opens the lock file only if it belongs to this user: in /tmp, another user may have created that name.
FileDescriptor open_own(const fs::path& file) {
  FileDescriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat found {};
  if (!descriptor || ::fstat(descriptor.get(), &found) != 0) refuse("can't open", file, errno);
  if (found.st_uid != getuid()) {
    throw Error(ErrorCode::environment, file.string() + " belongs to another user",
                "ask its owner to delete it: dent locks the device with this file while it measures");
  }
  return descriptor;
}

// The holder's name, which it may not have written yet.
std::string holder_in(const FileDescriptor& file) {
  std::array<char, 1024> text{};
  const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "another dent";
}

}  // namespace

DeviceLock::DeviceLock(const std::string& device, const fs::path& folder)
    : file_(folder / file_name(device)) {}

// The holder deletes the file when it unlocks. A process that had it open then holds a lock on a deleted
// file, so it compares inodes and tries again.
DeviceLock::Held DeviceLock::hold(const std::string& whose,
                                  const std::function<void(const std::string& who)>& waits) const {
  for (bool told = false;;) {
    FileDescriptor descriptor = open_own(file_);
    while (::flock(descriptor.get(), told ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) refuse("can't lock", file_, errno);
      told = true;
      waits(holder_in(descriptor));
    }
    struct stat held {
    }, there{};
    if (::fstat(descriptor.get(), &held) == 0 && ::lstat(file_.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
      write_all(descriptor.get(), fmt::format("{} (process {})", whose, getpid()), file_);
      return {std::move(descriptor), file_};
    }
  }
}

DeviceLock::Held& DeviceLock::Held::operator=(Held&& other) noexcept {
  let_go();
  descriptor_ = std::move(other.descriptor_);
  file_ = std::move(other.file_);
  return *this;
}

void DeviceLock::Held::let_go() noexcept {
  if (!descriptor_) return;
  ::unlink(file_.c_str());
  descriptor_ = {};
}

}  // namespace dent

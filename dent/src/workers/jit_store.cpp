// SPDX-License-Identifier: MIT
#include "workers/jit_store.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "build/jit_cache.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScratch = "running-";  // followed by the id of the process that made it
constexpr std::size_t kKeyDigits = 16;

bool is_alive(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

// Removes scratch folders of killed dents.
void remove_left_behind(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kScratch)) continue;
    pid_t owner = 0;
    std::from_chars(name.data() + kScratch.size(), name.data() + name.size(), owner);
    if (owner > 0 && !is_alive(owner)) fs::remove_all(entry.path(), none);
  }
}

// Files in Triton's cache contain absolute paths of others; with wrong paths Triton compiles again.
void move_paths(const fs::path& folder, const std::string& from, const std::string& to) {
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none)) {
    if (!entry->path().filename().string().starts_with("__grp__")) continue;
    std::string text = text_of(entry->path());
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    std::ofstream(entry->path()) << text;
  }
}

void copy_tree(const fs::path& from, const fs::path& to) {
  constexpr auto kHow =
      fs::copy_options::recursive | fs::copy_options::overwrite_existing | fs::copy_options::skip_symlinks;
  std::error_code problem;
  fs::copy(from, to, kHow, problem);
  if (problem)
    throw Error(ErrorCode::environment, fmt::format("can't copy {}: {}", from.string(), problem.message()),
                "check the disk's free space and the folder's permissions");
  move_paths(to, from.string() + "/", to.string() + "/");
}

std::optional<Jitted> read_kept(const fs::path& home) {
  const auto text = read_text(home / "jit.json");
  if (!text) return std::nullopt;
  try {
    auto kept = from_json_text<Jitted>(*text);
    kept.reused = true;
    if (jit_hash(home / "cache") == kept.binary_hash) return kept;
  } catch (const Error&) {  // the entry was written by another version
  }
  return std::nullopt;
}

}  // namespace

void fields(Fields& f, Jitted& jitted) {
  f("binary_hash", jitted.binary_hash, "SHA-256 over all machine code");
  f("seconds", jitted.seconds, "compile time");
  f("compilers", jitted.compilers, "compilers and their versions");
  f("tuned", jitted.tuned, "choices of autotuners");
  f("kernels", jitted.kernels, "resources of each kernel");
}

fs::path JitStore::make_scratch() {
  std::error_code problem;
  fs::create_directories(folder_, problem);
  remove_left_behind(folder_);
  std::string name = (folder_ / fmt::format("{}{}-XXXXXX", kScratch, getpid())).string();
  if (mkdtemp(name.data()) == nullptr)
    throw Error(ErrorCode::environment,
                fmt::format("can't create a folder in {}: {}", folder_.string(), std::strerror(errno)),
                "check the disk's free space and the folder's permissions");
  return name;
}

std::vector<std::pair<std::string, std::string>> JitStore::variables(const fs::path& scratch) {
  return {{"TRITON_CACHE_DIR", (scratch / "triton").string()},
          {"TORCHINDUCTOR_CACHE_DIR", (scratch / "inductor").string()},
          {"TORCHINDUCTOR_COMPILE_THREADS", "1"},  // more would leave processes running
          {"CUTE_DSL_CACHE_DIR", (scratch / "cute").string()},
          {"NUMBA_CACHE_DIR", (scratch / "numba").string()},
          {"CUDA_CACHE_PATH", (scratch / "cuda").string()}};
}

Jitted JitStore::settle(Worker& worker, const fs::path& scratch, const std::string& origin,
                        const std::function<void()>& call_every_shape, double seconds) {
  const fs::path home = folder_ / sha256(origin).substr(0, kKeyDigits);
  if (auto kept = read_kept(home)) {
    copy_tree(home / "cache", scratch);
    worker.pin(kept->tuned, seconds);
    return *std::move(kept);
  }
  const auto start = std::chrono::steady_clock::now();
  call_every_shape();
  Jitted made{.seconds = seconds_since(start), .compilers = worker.loaded().compilers};
  made.tuned = worker.pin({}, seconds);
  std::error_code none;
  fs::remove_all(home, none);
  fs::create_directories(home / "cache", none);
  copy_tree(scratch, home / "cache");
  made.binary_hash = jit_hash(home / "cache");
  made.kernels = jit_resources(home / "cache");
  write_durably(home / "jit.json", to_json_text(made));
  return made;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "ledger/project_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.h"
#include "records/line.h"

namespace dent {
namespace {

// The lock of a killed dent is held until the last of its children has ended, since a child between fork and
// exec holds the descriptor too.
constexpr auto kPatience = std::chrono::seconds(1);

std::string holder(int fd) {
  std::array<char, 256> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size(), 0);
  std::string who(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  while (!who.empty() && who.back() == '\n') who.pop_back();
  return who.empty() ? "a process that has not written its name yet" : who;
}

}  // namespace

ProjectLock::ProjectLock(const std::filesystem::path& folder) {
  const auto file = folder / "lock";
  descriptor_ = open_file(file, O_RDWR | O_CREAT, "can't open the project's lock");
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) refuse("can't lock", file, errno);
    if (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    throw Error(ErrorCode::busy,
                fmt::format("another dent works in this project: {}", holder(descriptor_.get())),
                "wait until it is done, or stop it; `dent log` and `dent show` work meanwhile");
  }
  const auto who = fmt::format("process {}, since {}\n", ::getpid(), utc_now());
  // The holder's name is only informative: a full disk must not prevent holding the lock.
  if (::ftruncate(descriptor_.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_.get(), who.data(), who.size(), 0);
  }
}

bool is_locked(const std::filesystem::path& folder) {
  const FileDescriptor file(::open((folder / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() >= 0 && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace dent

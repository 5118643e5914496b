// SPDX-License-Identifier: MIT
#include "system/exit_watch.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace dent {
namespace {

// From linux/pidfd.h of Linux 6.15, which most systems do not have yet.
struct PidfdInfo {
  std::uint64_t mask, cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

}  // namespace

ExitWatch::ExitWatch(pid_t process) : process_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}

std::optional<int> ExitWatch::status() const {
  PidfdInfo info{.mask = kExit, .cgroup = 0, .ids = {}, .exit_code = 0};
  if (!process_ || ioctl(process_.get(), kGetInfo, &info) != 0 || (info.mask & kExit) == 0)
    return std::nullopt;
  return info.exit_code;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// How a process ended that is not our child, for who has watched it before it did. Linux 6.15 and newer tell.
#pragma once

#include <sys/types.h>

#include <optional>

#include "system/file_descriptor.h"

namespace dent {

class ExitWatch {
 public:
  ExitWatch() = default;
  explicit ExitWatch(pid_t process);  // watches nothing where it is gone

  explicit operator bool() const { return static_cast<bool>(process_); }
  // As waitpid() has it. Nothing where it lives, or the system does not tell.
  std::optional<int> status() const;

 private:
  FileDescriptor process_;
};

}  // namespace dent

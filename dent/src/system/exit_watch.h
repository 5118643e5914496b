// SPDX-License-Identifier: MIT
// Exit status of a process that is not our child, if it was watched before it ended. Needs Linux 6.15.
#pragma once

#include <sys/types.h>

#include <optional>

#include "system/file_descriptor.h"

namespace dent {

class ExitWatch {
 public:
  ExitWatch() = default;
  explicit ExitWatch(pid_t process);  // inactive if the process no longer exists

  explicit operator bool() const { return static_cast<bool>(process_); }
  // The status as from waitpid(); nothing while the process lives, or on older systems.
  std::optional<int> status() const;

 private:
  FileDescriptor process_;
};

}  // namespace dent

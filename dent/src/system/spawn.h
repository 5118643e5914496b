// SPDX-License-Identifier: MIT
// From fork to exec: a child that has its limits, its descriptors and its filter before it becomes a program.
#pragma once

#include <sys/types.h>

#include "system/file_descriptor.h"

namespace dent {

struct Command;

struct Spawned {
  pid_t process = -1;         // the leader of a group of its own
  FileDescriptor listener{};  // of its filter's; none where it is not confined
};

// The program runs when it returns. Throws Error where it can't be started.
Spawned spawn(const Command& command);

}  // namespace dent

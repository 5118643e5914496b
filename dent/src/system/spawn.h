// SPDX-License-Identifier: MIT
// Fork and exec: sets up limits, descriptors and the seccomp filter of a child before its program starts.
#pragma once

#include <sys/types.h>

#include "system/file_descriptor.h"

namespace dent {

struct Command;

struct Spawned {
  pid_t process = -1;         // leads its own group
  FileDescriptor listener{};  // for the supervisor of its filter; empty if not confined
};

// Returns when the program runs. Throws Error if it can't be started.
Spawned spawn(const Command& command);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Whether a process has rewritten the code that it runs. A page of a file that was written to in memory is the
// process's own from then on, and the system counts it; what was put back from the file is not seen.
#pragma once

#include <sys/types.h>

#include <string>

namespace dent {

// The first file of dent's worker, the interpreter or the C library of which that is so: "libc.so.6". "" where
// there is none, or the system does not show another process's memory.
std::string changed_code(pid_t process);

}  // namespace dent

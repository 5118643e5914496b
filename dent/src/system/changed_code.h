// SPDX-License-Identifier: MIT
// Whether a process has rewritten code that it runs. A mapped page that was written to becomes private to the
// process, and the system counts such pages; a page that was mapped again from its file is not detected.
#pragma once

#include <sys/types.h>

#include <string>

namespace dent {

// The first rewritten file of dent's worker, the interpreter or the C library, such as "libc.so.6"; "" if
// there is none, or if the system does not show another process's memory.
std::string changed_code(pid_t process);

}  // namespace dent

// SPDX-License-Identifier: MIT
// A loop leaves nothing behind when it is interrupted. What is on disk survives a kill at any moment, so
// nothing has to be brought to an end: the loop runs in a child process, which dies, and its parent removes
// the worktrees.
#pragma once

#include <filesystem>
#include <string>

namespace dent {

// Returns in the child. The parent waits for it and exits as it does. Ctrl-C, SIGTERM and SIGHUP, or whatever
// else kills the child, end it with its workers; then the worktrees of `project` are removed, and the exit
// code is 128 and the signal. Call it before anything is locked and while there is one thread.
void run_supervised(const std::filesystem::path& project, const std::string& how_to_go_on);

}  // namespace dent

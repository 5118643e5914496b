// SPDX-License-Identifier: MIT
// A session leaves nothing behind when it is interrupted. What is on disk survives a kill at any moment, so
// nothing has to be brought to an end: it runs in a child process, which dies, and its parent tidies up and
// says how to go on.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace dent {

// Returns in the child. The parent waits for it and exits as it does. Ctrl-C, SIGTERM and SIGHUP, or whatever
// else kills the child, end it with its workers; then `tidy_up` is called, and the exit code is 128 and the
// signal. Call it before anything is locked and while there is one thread.
void run_supervised(const std::string& how_to_go_on, const std::function<void()>& tidy_up = {});

// For a loop: the worktrees of its project.
void remove_worktrees(const std::filesystem::path& project);

}  // namespace dent

// SPDX-License-Identifier: MIT
// A session leaves nothing behind when it is interrupted. What is on disk survives a kill at any moment, so
// nothing has to be brought to an end: it runs in a child process, which dies, and its parent tidies up and
// says how to go on.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace dent {

// Returns in the child. The parent waits for it and exits as it does. Ctrl-C, SIGTERM, SIGUSR1 and SIGHUP, or
// whatever else kills the child, end it with its workers; the record in flight is dropped whole. Then
// `tidy_up` is called. The exit code is ExitCode::interrupted for SIGTERM and SIGUSR1, by which schedulers
// and clouds announce that they take the machine away; else 128 and the signal. `at_end` is told it, however
// the child ended. Call it before anything but the job's own folder is locked, and while there is one thread.
void run_supervised(const std::string& how_to_go_on, const std::function<void()>& tidy_up = {},
                    const std::function<void(int exit_code)>& at_end = {});

// For a loop: the worktrees of its project.
void remove_worktrees(const std::filesystem::path& project);

}  // namespace dent

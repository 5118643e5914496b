// SPDX-License-Identifier: MIT
// What every command that measures has in common: the lock, a session, its end on stdout.
#pragma once

#include "cli/options.h"
#include "session/runner.h"

namespace dent::cli {

ExitCode run_session(const char* command, const Project& project, RunOptions options, const Common& common);
ExitCode resume_session(const Project& project, const std::string& id, const Common& common);

}  // namespace dent::cli

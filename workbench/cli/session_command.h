// SPDX-License-Identifier: MIT
// What every command that measures has in common: the lock, a session, its end on stdout.
#pragma once

#include "cli/options.h"
#include "session/plan.h"

namespace dent::cli {

// The gate's options as flags.
void add_options(Command& command, const GateInfo& gate, GateOptions& options);

ExitCode run_session(const char* command, const Project& project, const PlanRequest& wanted,
                     const Common& common);
ExitCode resume_session(const Project& project, const std::string& id, const Common& common);

}  // namespace dent::cli

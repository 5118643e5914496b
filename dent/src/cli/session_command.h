// SPDX-License-Identifier: MIT
// What every command that measures has in common: the lock, a session, its end on stdout.
#pragma once

#include "cli/on.h"
#include "cli/options.h"
#include "ledger/session_store.h"
#include "session/conclude.h"
#include "session/plan.h"

namespace dent::cli {

// The gate's options as flags.
void add_options(Command& command, const GateInfo& gate, GateOptions& options);

// Here, or where `on` says.
ExitCode run_session(const char* command, const Project& project, const PlanRequest& wanted,
                     const Common& common, const On& on = {});
ExitCode resume_session(const Project& project, const std::string& id, const Common& common);

// How a session ended, on stdout.
ExitCode finish(const char* command, const Conclusion& end, const SessionFolder& folder,
                const Common& common);

}  // namespace dent::cli

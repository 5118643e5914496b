// SPDX-License-Identifier: MIT
// --on NAME: a command's session is done by an executor, as if it were here.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "executors/job_table.h"
#include "project/project.h"
#include "session/plan.h"

namespace dent::cli {

struct On {
  std::string executor;  // empty: here, in this process
  bool detach = false;
};
void add_on(Command& command, On& on);  // --on, --detach

ExitCode run_session_on(const char* command, const Project& project, const PlanRequest& wanted, const On& on,
                        const Common& common);

// The id of the job that does this session; nothing where it is done here.
std::optional<std::string> job_of_session(const Project& project, const std::string& session);
// Its state as it is now, where that can be asked; else why it can't, after these words.
void refresh(SentJob& sent, const Project& project);
inline constexpr const char* kLastKnown = "as last known: ";
// Follows a job to its end. One that was interrupted goes on.
ExitCode attach(const Project& project, const std::string& job, const Common& common);

}  // namespace dent::cli

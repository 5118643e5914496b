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
void add_on(Command& command, On& on);                       // --on, --detach
void add_executor(Command& command, std::string& executor);  // --on alone

ExitCode run_session_on(const char* command, const Project& project, const PlanRequest& wanted, const On& on,
                        const Common& common);

// The price of the executor's machine, in the place of the manifest's. Throws Error where there is none of
// that name.
void take_price(Project& project, const std::string& executor);

// The id of the job that does all of this session; nothing where there is none.
std::optional<std::string> job_of_session(const Project& project, const std::string& session);
// Its state as it is now, where that can be asked; else why it can't, after these words.
void refresh(SentJob& sent, const Project& project);
inline constexpr const char* kLastKnown = "as last known: ";
// Follows a job to its end. One that was interrupted goes on.
ExitCode attach(const Project& project, const std::string& job, const Common& common);

}  // namespace dent::cli

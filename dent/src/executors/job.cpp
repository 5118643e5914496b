// SPDX-License-Identifier: MIT
#include "executors/job.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/durable_file.h"

namespace dent {

void fields(Fields& f, Job& job) {
  f("job", job.id, "its id: a UUID");
  f("command", job.command, "as the session record has it");
  f("project", job.project, "the folder with the manifest, where the job is done");
  f("gates", job.gates, "names of the gates that are asked; with a minus: left out");
  f("part", job.part, "of a loop, which is done instead");
  f.may("shapes", job.shapes, "names of the shapes; left out for all");
  f.may("clean", job.options.clean, "build from scratch");
  f.may("rebaseline", job.options.rebaseline, "forget the recorded baseline");
  f.may("setup", job.setup, "a shell command before it begins or goes on");
  f.may("usd_per_hour", job.usd_per_hour, "of the machine; left out: as the manifest says");
  f.may("cell", job.cell, "whether one is required, whatever the manifest says");
  f("git", job.git, "state of the tree's repository, which is not copied");
  f.may("executor", job.executor, "name of the executor that it was given to");
  f.may("session", job.session, "that its records go to");
  f.may("created", job.created, "UTC");
}

void fields(Fields& f, JobStatus& status) {
  f("state", status.state, "what has become of it");
  f.may("word", status.word, "the system's own word for the state");
  f("exit_code", status.exit_code, "of dent job, once it has ended");
  f.may("why", status.why, "more, for people");
  f.may("where", status.where, "while it runs: machine and device, as far as they are known");
  f.may("doing", status.doing, "while it runs: the step that it is at");
}

Job read_job(const std::filesystem::path& folder) {
  const auto text = read_text(folder / kJobFile);
  if (!text) {
    throw Error(ErrorCode::invalid, fmt::format("no {} in {}", kJobFile, folder.string()),
                "name a job's folder: `dent jobs` lists the jobs of a project");
  }
  try {
    return from_json_text<Job>(*text);
  } catch (const Error& problem) {
    throw Error(ErrorCode::invalid,
                fmt::format("{}: {}", (folder / kJobFile).string(), problem.in_one_line()));
  }
}

void write_job(const std::filesystem::path& folder, const Job& job) {
  write_durably(folder / kJobFile, to_json_text(job) + "\n");
}

JobStatus status_of_exit(int exit_code, bool was_cancelled) {
  JobStatus status{.state = exit_code == 0 ? JobState::succeeded : JobState::failed,
                   .word = fmt::format("exit code {}", exit_code),
                   .exit_code = exit_code};
  if (exit_code == static_cast<int>(ExitCode::interrupted)) status.state = JobState::preempted;
  if (was_cancelled && has_ended(status.state) && status.state != JobState::succeeded)
    status.state = JobState::cancelled;
  return status;
}

}  // namespace dent

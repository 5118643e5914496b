// SPDX-License-Identifier: MIT
// A job: a whole piece of work for a whole dent, here or on another machine. It is a folder with job.json
// and, once it runs, a ledger of its own that grows. `dent job FOLDER` does it, and goes on with it when it
// is called again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/part.h"
#include "gates/gate.h"
#include "records/job.h"
#include "records/session.h"

namespace dent {

struct Job {
  std::string id{};       // a UUID of ours: a system's own number may be given twice
  std::string command{};  // "run", "bench": as the session record has it
  std::string
      project{};  // the folder with the manifest, where the job is done; relative: to the job's folder
  std::vector<std::string> gates{}, shapes{};  // as in PlanRequest
  GateOptions options{};
  std::optional<LoopPart> part{};    // of a loop; then it is done instead of a plan
  std::string setup{};               // a shell command before it begins or goes on, in the project's folder
  double usd_per_hour = 0;           // of the machine; 0: as the manifest says
  bool cell = false;                 // one is required, whatever the manifest says
  std::optional<record::Git> git{};  // of the tree, which is copied without its repository

  // For who sent it.
  std::string executor{};
  std::string session{};  // that its records go to
  std::string created{};  // UTC
};
void fields(Fields& f, Job& job);

inline constexpr const char* kJobFile = "job.json";

Job read_job(const std::filesystem::path& folder);  // throws Error
void write_job(const std::filesystem::path& folder, const Job& job);

// What has become of a job.
struct JobStatus {
  JobState state = JobState::pending;
  std::string word{};              // the system's own for the state
  std::optional<int> exit_code{};  // of `dent job`, once it has ended
  std::string why{};               // for people, where there is more to say
  std::string where{};             // while it runs: machine and device, as far as they are known
  std::string doing{};             // and the step that it is at
  bool operator==(const JobStatus&) const = default;
};
void fields(Fields& f, JobStatus& status);

// As the exit code of `dent job` says it.
JobStatus status_of_exit(int exit_code, bool was_cancelled);

}  // namespace dent

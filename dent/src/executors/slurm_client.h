// SPDX-License-Identifier: MIT
// Slurm's own programs, as far as dent needs them. Jobs are known by names that we give: the controller may
// give the number of a job that it forgot to the next one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/job.h"

namespace dent {

struct SlurmJob {
  std::string number;  // Slurm's
  std::string state;   // its word: RUNNING, OUT_OF_MEMORY
  std::string reason;
};

JobState job_state_of(std::string_view word);  // "CANCELLED by 1000" too

// It will run again, or for the first time, without us.
bool is_alive(const SlurmJob& job);
// It waits until two minutes have passed since it was requeued.
bool waits_after_requeue(const SlurmJob& job);

// Lines of `name|number|state|reason`, as we ask squeue for them; sacct leaves the reason out.
std::map<std::string, SlurmJob> parse_jobs(std::string_view text);
std::string parse_submitted(std::string_view text);  // the job's number in what `sbatch --parsable` prints

namespace slurm {

inline constexpr double kSeconds = 60;  // that one of its programs may take

// Throws Unreachable when there is no controller, Error for what it refuses.
std::string submit(const std::vector<std::string>& options, const std::string& script);
// By name; throws Unreachable. Jobs that ended a while ago are asked for at the accounting, where there is
// one, and are missing where it does not know them either.
std::map<std::string, SlurmJob> find(const std::vector<std::string>& names);
void start_now(const SlurmJob& job);
void cancel(const std::string& name);
bool requeue_this();  // the job that we are in; false: it can't be
std::string look();   // "ready", or why not

}  // namespace slurm
}  // namespace dent

// SPDX-License-Identifier: MIT
// A session's work on another machine: one record for each state of the job.
#pragma once

#include <optional>
#include <string>

#include "records/fields.h"

namespace dent {

// Common names of job states for all queueing systems; the system's own name is recorded as well.
enum class JobState { pending, running, succeeded, failed, cancelled, preempted, timeout };
inline constexpr Word<JobState> kJobStateWords[] = {
    {JobState::pending, "PENDING"}, {JobState::running, "RUNNING"},     {JobState::succeeded, "SUCCEEDED"},
    {JobState::failed, "FAILED"},   {JobState::cancelled, "CANCELLED"}, {JobState::preempted, "PREEMPTED"},
    {JobState::timeout, "TIMEOUT"}};
constexpr std::span<const Word<JobState>> words(JobState) { return kJobStateWords; }

constexpr bool has_ended(JobState state) { return state != JobState::pending && state != JobState::running; }

}  // namespace dent

namespace dent::record {

struct Job {
  static constexpr std::string_view kKind = "job";
  std::string job, executor;
  JobState state = JobState::pending;
  std::string word{};              // the system's own name of the state
  std::optional<int> exit_code{};  // of the dent that ran there
  std::string why{};
  bool operator==(const Job&) const = default;
};

void fields(Fields& f, Job& job);

}  // namespace dent::record

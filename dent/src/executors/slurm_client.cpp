// SPDX-License-Identifier: MIT
#include "executors/slurm_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "executors/executor.h"
#include "system/streams.h"

namespace dent {
namespace {

constexpr double kPingSeconds = 10;
constexpr char kBetween = '|';  // as sacct has it

struct StateWord {
  std::string_view word;
  JobState state;
};
constexpr std::array kStates{
    StateWord{"PENDING", JobState::pending},       StateWord{"CONFIGURING", JobState::pending},
    StateWord{"REQUEUED", JobState::pending},      StateWord{"REQUEUE_FED", JobState::pending},
    StateWord{"RESV_DEL_HOLD", JobState::pending}, StateWord{"RUNNING", JobState::running},
    StateWord{"COMPLETING", JobState::running},    StateWord{"SUSPENDED", JobState::running},
    StateWord{"STOPPED", JobState::running},       StateWord{"SIGNALING", JobState::running},
    StateWord{"RESIZING", JobState::running},      StateWord{"STAGE_OUT", JobState::running},
    StateWord{"COMPLETED", JobState::succeeded},   StateWord{"CANCELLED", JobState::cancelled},
    StateWord{"PREEMPTED", JobState::preempted},   StateWord{"TIMEOUT", JobState::timeout},
    StateWord{"DEADLINE", JobState::timeout},      StateWord{"FAILED", JobState::failed},
    StateWord{"NODE_FAIL", JobState::failed},      StateWord{"BOOT_FAIL", JobState::failed},
    StateWord{"OUT_OF_MEMORY", JobState::failed},  StateWord{"REVOKED", JobState::failed},
    StateWord{"REQUEUE_HOLD", JobState::failed},  // held until somebody lets it go: for us it is lost
    StateWord{"SPECIAL_EXIT", JobState::failed},
};

// stdout and stderr apart; throws Error where there is no such program.
CommandAnswer call(std::vector<std::string> argv, double seconds = slurm::kSeconds) {
  const std::string program = argv.front();
  try {
    return ask({.argv = std::move(argv)}, seconds);
  } catch (const Error&) {
    throw Error(ErrorCode::environment, fmt::format("{} can't be run here", program),
                "run dent where Slurm's programs are, for example on the cluster's login node");
  }
}

bool without_controller(const std::string& text) {
  for (const char* sign : {"Unable to contact slurm controller", "Connection refused", "Socket timed out",
                           "Zero Bytes were transmitted", "Resource temporarily unavailable"})
    if (text.find(sign) != std::string::npos) return true;
  return false;
}

[[noreturn]] void refuse(const std::string& program, const CommandAnswer& answer) {
  const std::string said = trimmed(answer.err);
  if (answer.ending.kind == Ending::Kind::timed_out || without_controller(said)) {
    throw Unreachable(fmt::format("Slurm's controller does not answer: {}", first_line(said)),
                      "work that has begun goes on; look at it: scontrol ping");
  }
  throw Error(ErrorCode::environment, fmt::format("{}: {}", program, said),
              "check `slurm` and `extra` of the executor; `sinfo` shows what this cluster has");
}

std::string comma_separated(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

// Where there is accounting it remembers; elsewhere this finds nothing.
std::map<std::string, SlurmJob> find_ended(const std::vector<std::string>& names) {
  const CommandAnswer answer =
      call({"sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-30days",
            "--name=" + comma_separated(names), "--format=JobName,JobID,State"});
  if (!answer.ending.clean()) return {};
  return parse_jobs(answer.out);
}

}  // namespace

JobState job_state_of(std::string_view word) {
  word = word.substr(0, word.find_first_of(" +"));
  for (const StateWord& known : kStates)
    if (known.word == word) return known.state;
  return JobState::running;  // a word of a later version: it is taken for lost only when it is gone
}

bool is_alive(const SlurmJob& job) {
  // A start that has failed is put on hold, for ever. Some versions write the words apart.
  const bool held = job.reason.starts_with("launch_failed") || job.reason.starts_with("launch failed");
  return !has_ended(job_state_of(job.state)) && !held;
}

bool waits_after_requeue(const SlurmJob& job) {
  return job_state_of(job.state) == JobState::pending && job.reason == "BeginTime";
}

std::map<std::string, SlurmJob> parse_jobs(std::string_view text) {
  std::map<std::string, SlurmJob> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> parts;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, kBetween);) parts.push_back(trimmed(word));
    if (parts.size() < 3) continue;
    SlurmJob job{parts[1], parts[2], parts.size() > 3 ? parts[3] : ""};
    // A name that was submitted twice: the one that lives counts.
    const auto known = found.find(parts[0]);
    if (known == found.end() || is_alive(job) || !is_alive(known->second)) found[parts[0]] = std::move(job);
  }
  return found;
}

std::string parse_submitted(std::string_view text) {
  const std::string line = first_line(trimmed(text));
  return line.substr(0, line.find(';'));  // behind it a cluster's name
}

namespace slurm {

std::string submit(const std::vector<std::string>& options, const std::string& script) {
  std::vector<std::string> argv{"sbatch", "--parsable"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(script);
  const CommandAnswer answer = call(std::move(argv));
  if (!answer.ending.clean()) refuse("sbatch", answer);
  return parse_submitted(answer.out);
}

std::map<std::string, SlurmJob> find(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const CommandAnswer answer = call(
      {"squeue", "--noheader", "--states=all", "--name=" + comma_separated(names), "--format=%j|%i|%T|%r"});
  if (!answer.ending.clean()) refuse("squeue", answer);
  auto found = parse_jobs(answer.out);
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (found.count(name) == 0) missing.push_back(name);
  if (!missing.empty()) found.merge(find_ended(missing));
  return found;
}

void start_now(const SlurmJob& job) { call({"scontrol", "update", "jobid=" + job.number, "StartTime=now"}); }

void cancel(const std::string& name) { call({"scancel", "--name=" + name}); }

bool requeue_this() {
  const char* number = std::getenv("SLURM_JOB_ID");
  return number != nullptr && call({"scontrol", "requeue", number}).ending.clean();
}

std::string look() {
  try {
    const CommandAnswer answer = call({"scontrol", "ping"}, kPingSeconds);
    if (answer.out.find(" is UP") != std::string::npos) return "ready";
    return "no answer from Slurm's controller: " + first_line(trimmed(answer.err + answer.out));
  } catch (const Error& problem) {
    return problem.in_one_line();
  }
}

}  // namespace slurm
}  // namespace dent

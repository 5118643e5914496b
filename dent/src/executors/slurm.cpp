// SPDX-License-Identifier: MIT
#include "executors/slurm.h"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/uuid.h"
#include "executors/doing.h"
#include "executors/program_bundle.h"
#include "executors/project_tree.h"
#include "executors/queue.h"
#include "executors/shell_words.h"
#include "executors/slot.h"
#include "executors/slurm_client.h"
#include "project/manifest.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/durable_file.h"
#include "system/file_descriptor.h"
#include "system/unpack.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr auto kSlurmPoll = std::chrono::milliseconds(50);
constexpr double kTendEveryS = 2;
constexpr std::size_t kSlurmLogTail = 1000;

fs::path workdir(const ExecutorRules& rules) {
  const char* home = std::getenv("HOME");
  fs::path folder = rules.workdir.empty() ? "~/.cache/dent" : rules.workdir;
  if (folder.string().starts_with("~/"))
    folder = fs::path(home == nullptr ? "/" : home) / folder.string().substr(2);
  return fs::absolute(folder);
}

fs::path queue_folder(const ExecutorRules& rules, const std::vector<std::string>& options) {
  const std::string of = fmt::format("{}\n{}", fmt::join(options, "\n"), rules.dent);
  return workdir(rules) / fmt::format("slurm-{}-{}", rules.name, sha256(of).substr(0, 12));
}

std::string name_of(const Job& job) { return job.created + "-" + job.id; }  // sorts by age
std::string slurm_name(const std::string& slot) { return "dent-" + slot; }

std::string end_of_log(const fs::path& slot) {
  const std::string log = trimmed(text_of(slot / "log"));
  return log.size() <= kSlurmLogTail ? log : "..." + log.substr(log.size() - kSlurmLogTail);
}

class SlurmExecutor : public Executor {
 public:
  SlurmExecutor(const ExecutorRules& rules, const Project& project)
      : rules_(rules),
        project_(project.directory),
        options_(slot_options(rules, project.kernel.device)),
        queue_(queue_folder(rules, options_)) {}

  std::string look() override { return slurm::look(); }

  void copy_there(SentJob& sent) override {
    queue_.put(name_of(sent.job()), [&](const fs::path& work) {
      const ProjectTree tree = tree_of(project_, kManifestName);
      copy_project(tree, work / "tree");
      Job job = sent.job();
      job.project = fs::path("tree") / tree.prefix;
      write_job(work, job);
    });
  }

  void start(SentJob& sent) override {
    if (!sent.noted(kEnd).empty()) return;
    queue_.reopen(name_of(sent.job()));
    try {
      tend();
    } catch (const Unreachable&) {  // it waits in the queue; follow() tries again
    }
  }

  void follow(SentJob& sent, const TakeLine& take) override {
    TryReader reader(queue_, name_of(sent.job()));
    auto tended = Clock::now();
    while (!reader.read(take)) {
      std::this_thread::sleep_for(kSlurmPoll);
      if (seconds_since(tended) < kTendEveryS) continue;
      tend();
      tended = Clock::now();
    }
  }

  JobStatus state(SentJob& sent) override {
    const std::string job = name_of(sent.job());
    if (const std::string end = sent.noted(kEnd); !end.empty()) return from_json_text<JobStatus>(end);
    if (!queue_.has(job)) return {.state = JobState::pending, .word = "not sent"};
    if (const auto status = queue_.ended(job)) return *status;
    const auto all = queue_.tries(job);
    if (all.empty() || all.back().end) return {.state = JobState::pending, .word = what_slots_wait_for()};
    const std::string place = trimmed(text_of(queue_.slot_folder(all.back().slot) / "place"));
    JobStatus status{.state = JobState::running, .word = "RUNNING", .why = "on " + place};
    add_doing(status, all.back().folder);
    return status;
  }

  void cancel(SentJob& sent) override {
    queue_.withdraw(name_of(sent.job()));
    tend();
  }

  void bring_back(SentJob& sent, const fs::path& artifacts) override {
    const std::string job = name_of(sent.job());
    const auto status = queue_.ended(job);
    if (!status) return;
    const auto all = queue_.tries(job);
    if (!all.empty() && fs::exists(all.back().folder / "artifacts"))
      take_files(all.back().folder / "artifacts", artifacts);
    sent.note(kEnd, to_json_text(*status));  // the queue forgets it
    queue_.remove(job);
  }

 private:
  static constexpr const char* kEnd = "end";

  void copy_project(const ProjectTree& tree, const fs::path& target) const {
    for (const std::string& file : tree.files) {
      fs::create_directories((target / file).parent_path());
      fs::copy(tree.root / file, target / file, fs::copy_options::copy_symlinks);
    }
  }

  std::vector<std::string> live_slots() const {
    std::vector<std::string> live;
    for (const std::string& slot : queue_.slots())
      if (!fs::exists(queue_.slot_folder(slot) / "gone")) live.push_back(slot);
    return live;
  }

  std::map<std::string, SlurmJob> ask_slurm(const std::vector<std::string>& slots) const {
    std::vector<std::string> names;
    for (const std::string& slot : slots) names.push_back(slurm_name(slot));
    return slurm::find(names);
  }

  std::string what_slots_wait_for() const {
    std::string word = "no slot yet";
    try {
      for (const auto& [name, job] : ask_slurm(live_slots())) {
        if (!is_alive(job)) continue;
        if (job_state_of(job.state) == JobState::running) return "in the queue";
        word = job.reason.empty() ? job.state : fmt::format("{} ({})", job.state, job.reason);
      }
    } catch (const Unreachable&) {
      word = "no answer from Slurm";
    }
    return word;
  }

  // Looks after the slots: what a lost one was at waits again, one that waits for its second start gets it,
  // and there are as many as there is work for. One coordinator does it at a time.
  void tend() {
    const FileDescriptor lock(::open((queue_.root() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
    const std::vector<std::string> slots = live_slots();
    const auto found = ask_slurm(slots);
    std::size_t alive = 0, unfinished = 0;
    for (const std::string& job : queue_.jobs())
      if (!queue_.ended(job)) ++unfinished;
    for (const std::string& slot : slots) {
      const auto job = found.find(slurm_name(slot));
      if (job == found.end() || !is_alive(job->second)) {
        bury(slot, job == found.end() ? SlurmJob{{}, "unknown to Slurm", {}} : job->second);
      } else if (unfinished == 0 && job_state_of(job->second.state) == JobState::pending) {
        slurm::cancel(slurm_name(slot));
      } else {
        if (waits_after_requeue(job->second)) slurm::start_now(job->second);
        ++alive;
      }
    }
    take_back_from_the_gone();
    forget_old_slots();
    const auto wanted = std::min(unfinished, static_cast<std::size_t>(rules_.slurm.slots));
    for (; alive < wanted; ++alive) submit();
  }

  void submit() const {
    const std::string slot = new_uuid();
    const fs::path folder = queue_.slot_folder(slot);
    SlotRules rules{.program = program(), .idle_s = rules_.slurm.idle_seconds};
    for (const auto& [name, value] : rules_.envs) rules.envs.push_back(name + "=" + value);
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);  // variables may be secrets
    write_durably(folder / "slot.json", to_json_text(rules) + "\n");
    write_durably(folder / "script",
                  fmt::format("#!/bin/sh\nexec {} slot {} {}\n", dent::quoted(rules.program),
                              dent::quoted(queue_.root().string()), slot));
    std::vector<std::string> options = options_;
    std::string log = (folder / "log").string();
    for (std::size_t at = 0; (at = log.find('%', at)) != std::string::npos; at += 2) log.insert(at, 1, '%');
    options.push_back("--job-name=" + slurm_name(slot));
    options.push_back("--output=" + log);
    write_durably(folder / "number", slurm::submit(options, (folder / "script").string()) + "\n");
  }

  // dent on the shared file system: an installation here may be none of the nodes'. Once per version.
  std::string program() const {
    if (!rules_.dent.empty()) return rules_.dent;
    const ProgramBundle bundle = program_bundle();
    const fs::path folder = workdir(rules_) / "programs" / bundle.id;
    if (!fs::exists(folder)) {
      const fs::path prepared = fs::path(folder) += "." + new_uuid();
      for (const auto& [here, there] : bundle.files) {
        fs::create_directories((prepared / there).parent_path());
        fs::copy_file(here, prepared / there);
      }
      claim(prepared, folder);
    }
    return folder / "dent";
  }

  // Its try was lost with it, for a cause that Slurm has a word for.
  void bury(const std::string& slot, const SlurmJob& job) const {
    const fs::path folder = queue_.slot_folder(slot);
    const std::string log = end_of_log(folder);
    // Slurm's own look at memory has no word for it.
    const bool memory =
        job.state == "OUT_OF_MEMORY" || log.find("exceeded memory limit") != std::string::npos;
    JobStatus status{.state = job_state_of(job.state),
                     .word = memory ? "OUT_OF_MEMORY" : job.state,
                     .exit_code = static_cast<int>(ExitCode::interrupted),
                     .why = log};
    // A slot that is gone and has not said how its job went has lost it, whatever became of itself.
    if (!has_ended(status.state) || status.state == JobState::succeeded ||
        status.state == JobState::cancelled)
      status.state = JobState::failed;
    for (const std::string& name : queue_.jobs()) {
      const auto all = queue_.tries(name);
      // Too little memory is the job's own doing, and no better the next time.
      if (!all.empty() && !all.back().end && all.back().slot == slot)
        queue_.end(all.back(), {.final = memory, .status = status});
    }
    queue_.forget_prepared(slot);
    write_durably(folder / "gone", job.state + "\n");
    if (!job.number.empty() && !has_ended(job_state_of(job.state))) slurm::cancel(slurm_name(slot));  // held
  }

  // A slot that Slurm has forgotten may have taken a job after it was given up.
  void take_back_from_the_gone() const {
    for (const std::string& job : queue_.jobs()) {
      const auto all = queue_.tries(job);
      if (all.empty() || all.back().end || !fs::exists(queue_.slot_folder(all.back().slot) / "gone"))
        continue;
      queue_.end(all.back(), {.final = false,
                              .status = {.state = JobState::preempted,
                                         .word = "taken by a slot that was given up",
                                         .exit_code = static_cast<int>(ExitCode::interrupted)}});
    }
  }

  // What their logs say is of use as long as there are jobs that they have tried.
  void forget_old_slots() const {
    std::vector<std::string> named;
    for (const std::string& job : queue_.jobs())
      for (const Try& one : queue_.tries(job)) named.push_back(one.slot);
    for (const std::string& slot : queue_.slots()) {
      std::error_code ignored;
      const fs::path folder = queue_.slot_folder(slot);
      if (fs::exists(folder / "gone") && std::find(named.begin(), named.end(), slot) == named.end())
        fs::remove_all(folder, ignored);
    }
  }

  ExecutorRules rules_;
  fs::path project_;
  std::vector<std::string> options_;
  JobQueue queue_;
};

}  // namespace

std::vector<std::string> slot_options(const ExecutorRules& rules, DeviceKind device) {
  // --requeue: what is preempted comes again. USR1 goes to the script alone, which is the slot itself.
  std::vector<std::string> options{"--ntasks=1", "--requeue", "--open-mode=append", "--signal=B:USR1@90"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) options.push_back(fmt::format("--{}={}", option, value));
  };
  std::string gres = rules.slurm.gres;
  if (gres.empty() && !rules.accelerators.empty()) gres = "gpu:" + rules.accelerators;
  if (gres.empty() && device == DeviceKind::cuda) gres = "gpu:1";
  add("partition", rules.slurm.partition);
  add("account", rules.slurm.account);
  add("qos", rules.slurm.qos);
  add("gres", gres);
  add("constraint", rules.slurm.constraint);
  add("time", rules.slurm.time);
  options.insert(options.end(), rules.slurm.extra.begin(), rules.slurm.extra.end());
  return options;
}

std::unique_ptr<Executor> slurm_executor(const ExecutorRules& rules, const Project& project) {
  if (!rules.host.empty()) {
    throw Error(ErrorCode::invalid,
                fmt::format("executor {}: kind = \"slurm\" with host = \"{}\"", rules.name, rules.host),
                "run dent on that machine, where Slurm's programs and its shared file system are, and leave "
                "host out");
  }
  return std::make_unique<SlurmExecutor>(rules, project);
}

}  // namespace dent

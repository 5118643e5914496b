// SPDX-License-Identifier: MIT
#include "session/session.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "accounting/cost.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "gates/registry.h"
#include "project/manifest.h"
#include "report/write_reports.h"
#include "session/environment.h"
#include "session/plan.h"
#include "session/version.h"

namespace dent {
namespace {

bool compares(const std::vector<Step>& plan) {
  return plan.empty() || std::any_of(plan.begin(), plan.end(), [](const Step& step) {
           return step.gate == &baseline_gate() || step.gate == &performance_gate();
         });
}

// A profiler's run is a run as well.
bool runs_kernels(const Step& step) {
  return step.gate != nullptr && (step.gate->info().uses == Uses::device || step.gate == &profile_gate());
}

bool is_a_loop(const std::string& command) { return command == "optimize" || command == "evaluate"; }

// dent resume goes on with whatever follows a plan.
// Of two commits, whose trees are gone with the command.
bool starts_anew(const std::string& command) {
  return command == "ci" || command == "bisect" || command == "track" || command == "verify";
}

bool resumes(const std::string& command, const std::string& of_session) {
  if (starts_anew(of_session)) return false;
  return is_a_loop(command) ? command == of_session : !is_a_loop(of_session);
}

std::string how_to_resume(const std::string& command) {
  if (command == "optimize") return "dent optimize --resume";
  return command == "evaluate" ? "dent evaluate --session" : "dent resume";
}

}  // namespace

Session::Session(const Project& project, SessionStore& store, SessionFolder folder, Observer& observer)
    : project_(project),
      store_(store),
      folder_(std::move(folder)),
      observer_(observer),
      ledger_(folder_.ledger()),
      facts_(ledger_.records()) {
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks is such a look from outside
  prctl(PR_SET_DUMPABLE, 0);  // expected outputs are in our memory, which is nobody else's to read
#endif
  for (const Record& record : ledger_.records()) {
    if (!record.job.empty()) taken_[record.job] = record.job_number;
  }
}

record::Session Session::first_record(const SessionRequest& request) const {
  return {.dent_version = kDentVersion,
          .project = project_.name,
          .op = project_.op.name,
          .candidate = project_.kernel.name,
          .baseline = {},
          .device_name = {},
          .manifest = effective_config(project_),
          .command = request.command,
          .device = project_.kernel.device,
          .plan = plan_record(request.plan),
          .gates = request.gates,
          .shapes = request.shapes};
}

void Session::open(const SessionRequest& request, Sides& sides) {
  if (!facts_.empty()) {
    sides.keep_baseline(facts_.session().baseline);
    return;
  }
  const Kernel& against = sides.choose_baseline(compares(request.plan));
  record::Environment environment = environment_snapshot(project_.directory);
  if (request.git) environment.git = request.git;
  environment.walls = sides.workers().walls();
  record::Session first = first_record(request);
  first.baseline = against.name;
  first.device_name = device_name(environment, project_.kernel.device);
  append(std::move(first));
  append(std::move(environment));
  for (const std::string& note : sides.notes()) append(record::Note{note});
  if (const std::string& why = sides.workers().cell().why_not();
      !why.empty() && project_.sandbox == Sandbox::automatic) {
    append(record::Note{"without a cell, what is measured can read your files and use the network: " + why});
  }
}

void Session::open_elsewhere(const SessionRequest& request) {
  if (facts_.empty()) append(first_record(request));
}

void Session::learn(const record::Session& of_the_job) {
  record::Session known = facts_.session();
  if (!known.baseline.empty()) return;
  known.baseline = of_the_job.baseline;
  known.device_name = of_the_job.device_name;
  append(std::move(known));
}

void Session::append(AnyRecord record) {
  std::vector<AnyRecord> one;
  one.push_back(std::move(record));
  append(std::move(one), "");
}

void Session::append(std::vector<AnyRecord> records, const std::string& step) {
  const std::size_t known = ledger_.records().size();
  ledger_.append(std::move(records), step);
  for (std::size_t i = known; i < ledger_.records().size(); ++i) facts_.take(ledger_.records()[i]);
}

bool Session::take_in(const Record& theirs, const std::string& job) {
  if (theirs.number <= taken_[job]) return false;
  ledger_.take_in(theirs, job);
  taken_[job] = theirs.number;
  facts_.take(ledger_.records().back());
  return true;
}

Progress Session::progress() const {
  return [this](double share, const std::string& doing) { observer_.progress(share, doing); };
}

void Session::show(const std::vector<Step>& plan, std::size_t done_already) {
  of_ = plan.size();
  observer_.plan(plan, done_already);
}

void Session::begin(const Step& step) {
  ++number_;
  observer_.begin(step, number_, std::max(of_, number_));
}

void Session::end(const Step& step, const GateResult& result, double seconds) {
  observer_.end(step, result, seconds);
}

GateResult Session::perform(const Step& step, Sides& sides) {
  const Progress tell = progress();
  sides.workers().turns().on_wait([this, name = step.name](const std::string& who) {
    observer_.progress(0, fmt::format("{}: waits for its turn; the device is in use by {}", name, who));
  });
  return carry_out(step, [&] { return run_step(step, sides, facts_, store_, tell); });
}

GateResult Session::settle(const Step& step, GateResult result) {
  return carry_out(step, [&] { return Performed{std::move(result)}; });
}

GateResult Session::report(const Step& step) {
  return carry_out(step, [&] {
    const auto start = std::chrono::steady_clock::now();
    write_reports(store_, folder_);
    const double seconds = seconds_since(start);
    return Performed{passed("report.md, report.html and report.json in .dent/sessions/" + folder_.id),
                     seconds, seconds};
  });
}

// A step that people see says that it has begun; a part of one is on record all at once. Its gate record
// comes last: it says that the step has ended.
GateResult Session::carry_out(const Step& step, const std::function<Performed()>& work) {
  if (const record::Gate* gate = facts_.finished(step.name)) {
    if (step.shown) ++number_;
    GateResult known = result_of(*gate);
    known.records = facts_.records_of(step.name);
    return known;
  }
  std::vector<AnyRecord> records{record::Begin{step.name}};
  if (step.shown) {
    begin(step);
    append(std::move(records), step.name);
    records.clear();
  } else {
    observer_.begin_part(step);
  }
  DeviceTurns::Turn alone;
  if (device_ != nullptr && runs_kernels(step)) alone = device_->take();
  Performed performed = work();
  const GateResult& result = performed.result;
  records.insert(records.end(), result.records.begin(), result.records.end());
  record::Gate gate = to_record(result, step.name);
  gate.elapsed_s = performed.seconds;
  gate.own_s = performed.own_s;
  gate.time_box_s = step.time_box_s;
  if (performed.seed != 0) gate.seed = fmt::format("{:016x}", performed.seed);
  gate.uses = step.gate != nullptr && !step.sums_up ? step.gate->info().uses : Uses::nothing;
  records.emplace_back(std::move(gate));
  append(std::move(records), step.name);
  if (step.shown) end(step, result, performed.seconds);
  return std::move(performed.result);
}

Conclusion Session::conclude(Conclusion conclusion, double own_s_between_steps) {
  if (!facts_.verdict()) {
    append(record::Verdict{.verdict = conclusion.verdict,
                           .reason = conclusion.reason,
                           .next = conclusion.next,
                           .exit_code = static_cast<int>(conclusion.code),
                           .elapsed_s = cost_of(ledger_.records()).wall_s,
                           .own_s = facts_.own_s() + own_s_between_steps});
  }
  write_reports(store_, folder_);
  return conclusion;
}

SessionFolder session_to_resume(const SessionStore& store, const Project& project, const std::string& id,
                                const std::string& command) {
  const auto facts_of = [](const SessionFolder& folder) {
    return std::filesystem::exists(folder.ledger()) ? SessionFacts(read_ledger(folder.ledger()).records)
                                                    : SessionFacts();
  };
  std::optional<SessionFolder> folder;
  if (id != "latest" || !is_a_loop(command)) {
    folder = store.find(id);
  } else {  // the last one of its kind, not whatever was run after it
    const auto all = store.list();
    for (auto session = all.rbegin(); session != all.rend() && !folder; ++session) {
      const SessionFacts facts = facts_of(*session);
      if (!facts.empty() && resumes(command, facts.session().command)) folder = *session;
    }
    if (!folder) {
      throw Error(ErrorCode::invalid, fmt::format("there is no session of dent {} to go on with", command),
                  fmt::format("start one: dent {}", command));
    }
  }
  const SessionFacts facts = facts_of(*folder);
  if (facts.empty()) {
    throw Error(ErrorCode::invalid,
                "session " + folder->id + " ended before its first record; there is nothing to go on with",
                fmt::format("start a new one: dent {}", command));
  }
  const std::string& theirs = facts.session().command;
  if (!resumes(command, theirs)) {
    throw Error(ErrorCode::invalid, fmt::format("session {} is one of dent {}", folder->id, theirs),
                starts_anew(theirs) ? fmt::format("start it anew: dent {}", theirs)
                                    : fmt::format("go on with it: {} {}", how_to_resume(theirs), folder->id));
  }
  if (!same_project(facts.session().manifest, project)) {
    throw Error(ErrorCode::invalid, "dent.toml has changed since session " + folder->id + " began",
                fmt::format("undo the change to go on with it, or start a new one: dent {}", command));
  }
  return *folder;
}

}  // namespace dent

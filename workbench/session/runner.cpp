// SPDX-License-Identifier: MIT
#include "session/runner.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/stopwatch.h"
#include "gates/baseline/baseline.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/performance/performance.h"
#include "gates/preflight/preflight.h"
#include "gates/profile/profile.h"
#include "gates/sanitize/sanitize.h"
#include "predict/peaks.h"
#include "project/manifest.h"
#include "report/write_reports.h"
#include "session/environment.h"
#include "session/version.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;

record::Roofline roofline_of(const Peaks& peaks) {
  return {peaks.device, peaks.gflops, peaks.gbs, peaks.source};
}

}  // namespace

Runner::Runner(const Project& project, SessionStore& store, SessionFolder session, RunOptions options,
               Display& display)
    : project_(project),
      store_(store),
      session_(std::move(session)),
      options_(std::move(options)),
      display_(display),
      ledger_(session_.ledger()),
      facts_(ledger_.records()),
      plan_(make_plan(project, options_.plan)),
      workshop_(project, find_resources(), store.folder(), session_.artifacts()),
      participants_(workshop_) {
  if (!facts_.empty())
    participants_.keep_baseline(facts_.session().baseline);  // a session that goes on keeps its own
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks is such a look from outside
  prctl(PR_SET_DUMPABLE, 0);  // expected outputs are in our memory, which is nobody else's to read
#endif
}

SessionEnd Runner::run() {
  const auto run_start = Clock::now();
  const double waited_at_start = waited_for_user_s();
  double own_in_steps_s = 0;
  if (facts_.empty()) open_session();
  std::size_t done = 0;
  for (const Step& step : plan_) done += facts_.finished(step.name) != nullptr ? 1 : 0;
  display_.plan(plan_, done);
  std::string stopped_by;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const Step& step = plan_[i];
    if (const record::Gate* gate = facts_.finished(step.name)) {
      if (gate->verdict == StepVerdict::fail && stopped_by.empty()) stopped_by = step.name;
      continue;
    }
    display_.begin(step, i + 1, plan_.size());
    seed_ = 0;
    const auto start = Clock::now();
    const double waited_before = waited_for_user_s();
    const GateResult result = still_runs(step, facts_.finished(stopped_by))
                                  ? perform(step)
                                  : skipped("not reached: " + stopped_by + " failed");
    const double seconds = seconds_since(start);
    const double own_seconds = std::max(0.0, seconds - (waited_for_user_s() - waited_before));
    own_in_steps_s += own_seconds;
    record_end(step, result, seconds, own_seconds);
    display_.end(step, result, seconds);
    if (result.failed() != nullptr && stopped_by.empty()) stopped_by = step.name;
  }
  return conclude(seconds_since(run_start) - (waited_for_user_s() - waited_at_start) - own_in_steps_s);
}

// After a failure only the report is written; and what was too slow is profiled, so that the next step is
// known.
bool Runner::still_runs(const Step& step, const record::Gate* stopped_by) const {
  if (stopped_by == nullptr || step.kind == StepKind::report) return true;
  return step.kind == StepKind::profile &&
         (stopped_by->cause == Cause::slower || stopped_by->cause == Cause::ambiguous);
}

void Runner::append(AnyRecord record) {
  std::vector<AnyRecord> one;
  one.push_back(std::move(record));
  append(std::move(one), "");
}

void Runner::append(std::vector<AnyRecord> records, const std::string& step) {
  const std::size_t known = ledger_.records().size();
  ledger_.append(std::move(records), step);
  for (std::size_t i = known; i < ledger_.records().size(); ++i) facts_.take(ledger_.records()[i]);
}

void Runner::open_session() {
  const Kernel& against = participants_.choose_baseline(options_.plan.performance);
  record::Environment environment = environment_snapshot(project_.directory);
  append(record::Session{.dent_version = kDentVersion,
                         .project = project_.name,
                         .op = project_.op.name,
                         .candidate = project_.kernel.name,
                         .baseline = against.name,
                         .device_name = device_name(environment, project_.kernel.device),
                         .manifest = effective_config(project_),
                         .command = options_.command,
                         .device = project_.kernel.device,
                         .plan = plan_record(plan_),
                         .gates = gates_of(options_.plan),
                         .shapes = options_.plan.shapes});
  append(std::move(environment));
  for (const std::string& note : participants_.notes()) append(record::Note{note});
}

GateResult Runner::perform(const Step& step) {
  if (project_.budget.minutes > 0 && step.kind != StepKind::report &&
      facts_.elapsed_s() > 60 * project_.budget.minutes) {
    return failed(Cause::budget,
                  fmt::format("{:.1f} minutes are spent; the budget was {}", facts_.elapsed_s() / 60,
                              project_.budget.minutes),
                  "raise budget.minutes in dent.toml and go on: dent resume");
  }
  append({record::Begin{step.name}}, step.name);
  // Drawn now and told to nobody before the step has ended.
  seed_ = secret_seed();
  try {
    return run_step(step);
  } catch (const KernelFailed& problem) {
    participants_.dismiss();  // whichever it was: the next step starts afresh
    return failed(problem.failure(), step.name);
  }
}

GateResult Runner::run_step(const Step& step) {
  const Progress progress = [this](double share, const std::string& doing) {
    display_.progress(share, doing);
  };
  const bool measures = step.kind == StepKind::correctness || step.kind == StepKind::performance;
  if (measures) {
    progress(0, "starting workers");
    participants_.candidate();
    if (const std::string stale = workshop_.stale(project_.kernel); !stale.empty()) {
      return failed(Cause::build, stale + ": what would be measured is not what you see",
                    "dent run builds it again");
    }
  }
  switch (step.kind) {
    case StepKind::preflight:
      return PreflightGate(workshop_).run(progress);
    case StepKind::build: {
      GateResult result = BuildGate(workshop_, options_.clean).run(progress);
      return result.passed() != nullptr ? load(std::move(result)) : result;
    }
    case StepKind::baseline:
      return BaselineGate(workshop_, store_.folder() / "baselines.json", options_.rebaseline)
          .run(participants_.baseline(), participants_.choose_baseline(true).name, facts_.machine_name(),
               participants_.oracle(), seed_, progress);
    case StepKind::correctness:
      participants_.candidate().resume();
      return CorrectnessGate(workshop_, participants_.oracle())
          .run(participants_.candidate(), workshop_.problems()[step.shape], seed_, progress);
    case StepKind::performance:
      return measure(workshop_.problems()[step.shape], progress);
    case StepKind::summary: {
      GateResult result = summarize(facts_.comparisons(Against::baseline), project_.performance);
      if (const auto peaks = device_peaks()) {
        result.records.emplace_back(roofline_of(*peaks));
      }
      return result;
    }
    case StepKind::sanitize:
      return SanitizeGate(workshop_).run(seed_, progress);
    case StepKind::profile:
      return profile(step, progress);
    case StepKind::report: {
      write_reports(store_, session_);
      return passed("report.md, report.html and report.json in .dent/sessions/" + session_.id);
    }
  }
  return failed(Cause::environment, "no such step");
}

GateResult Runner::measure(const Problem& problem, const Progress& progress) {
  GateResult result = PerformanceGate(workshop_, participants_.oracle())
                          .run(participants_.candidate(), participants_.baseline(), problem, seed_, progress);
  // The peaks of a GPU are its data sheet's; those of a CPU were measured, and are no upper bound.
  if (project_.kernel.device == DeviceKind::cuda) {
    if (const auto peaks = device_peaks()) {
      refuse_the_impossible(result, problem, *peaks, project_.performance.flush);
    }
  }
  return result;
}

std::optional<std::size_t> Runner::slowest_shape() const {
  std::optional<std::size_t> slowest;
  double ratio = project_.performance.profile_below;
  for (const record::Comparison& comparison : facts_.comparisons(Against::baseline)) {
    // Too few pairs for an interval still have medians.
    const double here =
        comparison.ratio ? comparison.ratio->centre : comparison.baseline_ns / comparison.candidate_ns;
    if (!(here < ratio)) continue;
    ratio = here;
    for (std::size_t i = 0; i < project_.shapes.size(); ++i) {
      if (project_.shapes[i].name == comparison.shape) slowest = i;
    }
  }
  return slowest;
}

GateResult Runner::profile(const Step& step, const Progress& progress) {
  std::optional<std::size_t> shape = slowest_shape();
  if (!shape && options_.plan.profile == Profiling::when_slow) {
    return skipped(fmt::format("no shape is below {}x", project_.performance.profile_below));
  }
  participants_.dismiss();  // nothing else runs meanwhile
  GateResult result =
      ProfileGate(workshop_, store_, session_.artifacts())
          .run(project_.kernel, workshop_.problems()[shape.value_or(step.shape)], seed_, progress);
  if (const auto peaks = device_peaks()) {
    result.records.emplace_back(roofline_of(*peaks));
  }
  return result;
}

std::optional<Peaks> Runner::device_peaks() const {
  const std::string& device = facts_.session().device_name;
  return project_.kernel.device == DeviceKind::cuda ? gpu_peaks(device) : std::optional(cpu_peaks(device));
}

// What was built must load as well, in the process that will run it.
GateResult Runner::load(GateResult built) {
  try {
    participants_.candidate();
  } catch (const KernelFailed& problem) {
    const Failure& failure = problem.failure();
    if (failure.kind == FailureKind::no_driver) {
      std::get<Passed>(built.end).reason += "; not loaded, since this machine has no CUDA driver";
    } else if (failure.kind == FailureKind::refused) {
      built.end = Failed{Cause::build, failure.what, "", failure.last_words, failure.kind};
    } else {
      throw;
    }
  }
  return built;
}

void Runner::record_end(const Step& step, const GateResult& result, double seconds, double own_seconds) {
  record::Gate gate = to_record(result, step.name);
  gate.elapsed_s = seconds;
  gate.own_s = own_seconds;
  gate.time_box_s = step.time_box_s;
  if (seed_ != 0) gate.seed = fmt::format("{:016x}", seed_);
  std::vector<AnyRecord> records = result.records;
  records.emplace_back(std::move(gate));
  append(std::move(records), step.name);
}

SessionEnd Runner::conclude(double between_steps_s) {
  const SessionEnd end = dent::conclude(session_.id, plan_, facts_);
  if (!facts_.verdict()) {
    append(record::Verdict{.verdict = end.verdict,
                           .reason = end.reason,
                           .next = end.next,
                           .exit_code = static_cast<int>(end.code),
                           .elapsed_s = facts_.elapsed_s(),
                           .own_s = facts_.own_s() + between_steps_s});
  }
  write_reports(store_, session_);
  return end;
}

}  // namespace dent

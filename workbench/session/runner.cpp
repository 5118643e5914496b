// SPDX-License-Identifier: MIT
#include "session/runner.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "gates/baseline/baseline.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "predict/peaks.h"
#include "gates/performance/performance.h"
#include "gates/preflight/preflight.h"
#include "gates/profile/profile.h"
#include "gates/sanitize/sanitize.h"
#include "session/environment.h"
#include "project/manifest.h"
#include "report/write_reports.h"
#include "session/version.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

json roofline_record(const Peaks& peaks) {
  return {{"device", peaks.device},
          {"peak_gflops", peaks.gflops},
          {"peak_gbs", peaks.gbs},
          {"source", peaks.source}};
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
      plan_(make_plan(project, options_.plan)),
      workshop_(project, find_resources(), store.folder(), session_.artifacts()),
      participants_(workshop_) {
  for (const Record& record : ledger_.records()) {  // a session that goes on keeps its baseline
    if (record.kind == "session") participants_.keep_baseline(record.data.at("baseline").get<std::string>());
  }
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks is such a look from outside
  prctl(PR_SET_DUMPABLE, 0);  // expected outputs are in our memory, which is nobody else's to read
#endif
}

SessionEnd Runner::run() {
  const auto run_start = Clock::now();
  const double waited_at_start = waited_for_user_s();
  double own_in_steps_s = 0;
  if (ledger_.records().empty()) open_session();
  std::size_t done = 0;
  for (const Step& step : plan_) done += finished(step.name) != nullptr ? 1 : 0;
  display_.plan(plan_, done);
  std::string stopped_by;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const Step& step = plan_[i];
    if (const json* gate = finished(step.name)) {
      if (gate->at("verdict") == "fail" && stopped_by.empty()) stopped_by = step.name;
      continue;
    }
    display_.begin(step, i + 1, plan_.size());
    const auto start = Clock::now();
    const double waited_before = waited_for_user_s();
    const GateResult result =
        still_runs(step, stopped_by) ? perform(step) : skipped("not reached: " + stopped_by + " failed");
    const double seconds = seconds_since(start);
    const double own_seconds = std::max(0.0, seconds - (waited_for_user_s() - waited_before));
    own_in_steps_s += own_seconds;
    record_end(step, result, seconds, own_seconds);
    display_.end(step, result, seconds);
    if (result.verdict == GateVerdict::fail && stopped_by.empty()) stopped_by = step.name;
  }
  return conclude(seconds_since(run_start) - (waited_for_user_s() - waited_at_start) - own_in_steps_s);
}

// After a failure only the report is written; and what was too slow is profiled, so that the next step is
// known.
bool Runner::still_runs(const Step& step, const std::string& stopped_by) const {
  if (stopped_by.empty() || step.kind == StepKind::report) return true;
  const int cause = finished(stopped_by)->value("cause", 0);
  return step.kind == StepKind::profile && (cause == static_cast<int>(exit_code(Cause::slower)) ||
                                            cause == static_cast<int>(exit_code(Cause::ambiguous)));
}

void Runner::open_session() {
  const Kernel& against = participants_.choose_baseline(options_.plan.performance);
  json about{{"dent_version", kDentVersion},
             {"project", project_.name},
             {"operator", project_.op.name},
             {"candidate", project_.kernel.name},
             {"baseline", against.name},
             {"device", name(project_.kernel.device)},
             {"seed", "drawn for each step; in its gate record"},
             {"manifest", effective_config(project_).dump(1)},
             {"plan", plan_record(plan_)},
             {"options",
              {{"shapes", options_.plan.shapes},
               {"preflight", options_.plan.preflight},
               {"build", options_.plan.build},
               {"baseline", options_.plan.baseline},
               {"correctness", options_.plan.correctness},
               {"performance", options_.plan.performance},
               {"sanitize", options_.plan.sanitize},
               {"profile", static_cast<int>(options_.plan.profile)}}},
             {"command", options_.command}};
  json environment = environment_snapshot(project_.directory);
  if (environment.contains("cpu")) about["device_name"] = environment["cpu"].value("model", "");
  if (project_.kernel.device == DeviceKind::cuda && environment.contains("gpus") &&
      !environment["gpus"].empty()) {
    about["device_name"] = environment["gpus"][0].value("name", "");
  }
  ledger_.append("session", std::move(about));
  ledger_.append("environment", std::move(environment));
  for (const std::string& note : participants_.notes()) ledger_.append("note", {{"text", note}});
}

GateResult Runner::perform(const Step& step) {
  if (project_.budget.minutes > 0 && step.kind != StepKind::report &&
      spent_seconds() > 60 * project_.budget.minutes) {
    return failed(Cause::budget,
                  fmt::format("{:.1f} minutes are spent; the budget was {}", spent_seconds() / 60,
                              project_.budget.minutes),
                  "raise budget.minutes in dent.toml and go on: dent resume");
  }
  ledger_.append("begin", {{"step", step.name}});
  // Drawn now and told to nobody before the step has ended.
  seed_ = secret_seed();
  GateResult result;
  try {
    result = run_step(step);
  } catch (const KernelFailed& problem) {
    result = failed(problem.failure());
    participants_.dismiss();  // whichever it was: the next step starts afresh
  }
  if (result.evidence.is_null()) result.evidence = json::object();
  result.evidence["seed"] = fmt::format("{:016x}", seed_);
  return result;
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
      return result.verdict == GateVerdict::pass ? load(std::move(result)) : result;
    }
    case StepKind::baseline:
      return BaselineGate(workshop_, store_.folder() / "baselines.json", options_.rebaseline)
          .run(participants_.baseline(), participants_.choose_baseline(true).name, machine_name(),
               participants_.oracle(), seed_, progress);
    case StepKind::correctness:
      participants_.candidate().resume();
      return CorrectnessGate(workshop_, participants_.oracle())
          .run(participants_.candidate(), workshop_.problems()[step.shape], seed_, progress);
    case StepKind::performance:
      return measure(workshop_.problems()[step.shape], progress);
    case StepKind::summary: {
      GateResult result = summarize(last_records("comparison"), project_.performance);
      if (const auto peaks = device_peaks()) {
        result.records.emplace_back("roofline", roofline_record(*peaks));
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
  for (const json& record : last_records("comparison")) {
    // Too few pairs for an interval still have medians.
    const double here = record.contains("ratio") ? record.at("ratio").at("centre").get<double>()
                                                 : record.at("baseline_ns").get<double>() /
                                                       record.at("candidate_ns").get<double>();
    if (!(here < ratio)) continue;
    ratio = here;
    for (std::size_t i = 0; i < project_.shapes.size(); ++i) {
      if (project_.shapes[i].name == record.at("shape").get<std::string>()) slowest = i;
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
    result.records.emplace_back("roofline", roofline_record(*peaks));
  }
  return result;
}

std::optional<Peaks> Runner::device_peaks() const {
  const auto device = ledger_.records().front().data.value("device_name", std::string());
  return project_.kernel.device == DeviceKind::cuda ? gpu_peaks(device) : std::optional(cpu_peaks(device));
}

// What was built must load as well, in the process that will run it.
GateResult Runner::load(GateResult built) {
  try {
    participants_.candidate();
  } catch (const KernelFailed& problem) {
    const Failure& failure = problem.failure();
    if (failure.kind != Failure::Kind::refused) throw;
    if (project_.kernel.device == DeviceKind::cuda && failure.what.find("CUDA driver") != std::string::npos) {
      built.reason += "; not loaded, since this machine has no CUDA driver";
      return built;
    }
    built.verdict = GateVerdict::fail;
    built.cause = Cause::build;
    built.reason = failure.what;
    built.last_words = failure.last_words;
  }
  return built;
}

void Runner::record_end(const Step& step, const GateResult& result, double seconds, double own_seconds) {
  for (const auto& [kind, data] : result.records) ledger_.append(kind, data);
  json gate{{"step", step.name},       {"verdict", name(result.verdict)},
            {"reason", result.reason}, {"elapsed_s", seconds},
            {"own_s", own_seconds},    {"time_box_s", step.time_box_s}};
  if (result.cause != Cause::none) gate["cause"] = static_cast<int>(exit_code(result.cause));
  if (!result.next.empty()) gate["next"] = result.next;
  if (!result.evidence.is_null()) gate["evidence"] = result.evidence;
  if (!result.last_words.empty()) gate["last_words"] = result.last_words;
  ledger_.append("gate", std::move(gate));
}

const json* Runner::finished(const std::string& step) const {
  for (const Record& record : ledger_.records()) {
    if (record.kind == "gate" && record.data.at("step") == step) return &record.data;
  }
  return nullptr;
}

std::vector<json> Runner::last_records(const std::string& kind) const {
  std::vector<json> found;
  for (const Shape& shape : project_.shapes) {
    const json* last = nullptr;
    for (const Record& record : ledger_.records()) {
      if (record.kind == kind && record.data.value("shape", "") == shape.name) last = &record.data;
    }
    if (last != nullptr) found.push_back(*last);
  }
  return found;
}

double Runner::spent_seconds(const char* which) const {
  double seconds = 0;
  for (const Record& record : ledger_.records()) {
    if (record.kind == "gate") seconds += record.data.value(which, 0.0);
  }
  return seconds;
}

SessionEnd Runner::conclude(double between_steps_s) {
  SessionEnd end{session_.id, "", "", "", ExitCode::ok};
  for (const Step& step : plan_) {
    const json* gate = finished(step.name);
    if (gate == nullptr || gate->at("verdict") != "fail") continue;
    const Cause cause = [&] {
      for (int c = 0; c <= static_cast<int>(Cause::budget); ++c) {
        if (static_cast<int>(exit_code(static_cast<Cause>(c))) == gate->value("cause", 0))
          return static_cast<Cause>(c);
      }
      return Cause::environment;
    }();
    end = {session_.id, std::string(verdict_name(cause)), gate->at("reason").get<std::string>(),
           gate->value("next", ""), exit_code(cause)};
    if (end.reason.rfind(end.verdict + ": ", 0) == 0) end.reason.erase(0, end.verdict.size() + 2);
    break;
  }
  if (end.verdict.empty()) {
    end.verdict = "PASS";
    end.reason = "every step passed";
    for (const Record& record : ledger_.records()) {
      if (record.kind != "summary") continue;
      end.verdict = record.data.at("verdict").get<std::string>();
      end.reason = record.data.at("reason").get<std::string>();
    }
  }
  if (const json* gate = finished("profile"); gate != nullptr && gate->at("verdict") == "pass") {
    if (!options_.plan.performance && end.code == ExitCode::ok) end.reason = gate->at("reason");
    // A diagnosis knows better what to do next than the gate that found the kernel slow.
    const bool slow = end.code == ExitCode::ok || end.code == exit_code(Cause::slower);
    if (slow && gate->contains("next")) end.next = gate->at("next");
  }
  const bool concluded = !ledger_.records().empty() && ledger_.records().back().kind == "verdict";
  if (!concluded) {
    json record{{"verdict", end.verdict},
                {"reason", end.reason},
                {"exit_code", static_cast<int>(end.code)},
                {"elapsed_s", spent_seconds()},
                {"own_s", spent_seconds("own_s") + between_steps_s}};
    if (!end.next.empty()) record["next"] = end.next;
    ledger_.append("verdict", std::move(record));
  }
  write_reports(store_, session_);
  return end;
}

std::string Runner::machine_name() const {
  for (const Record& record : ledger_.records()) {
    if (record.kind != "environment") continue;
    std::string text = record.data.value("host", "") + " " + record.data.value("machine", "");
    if (record.data.contains("cpu")) text += " " + record.data["cpu"].value("model", "");
    return text;
  }
  return "unknown";
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Checks that the baseline is correct and as fast as recorded for this machine. Runs before any comparison.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gates/baseline/book.h"
#include "gates/context.h"
#include "gates/judging/call.h"
#include "gates/performance/timed_side.h"
#include "gates/performance/watch.h"
#include "gates/registry.h"
#include "measure/measuring_clock.h"

namespace dent {
namespace {

constexpr double kSecondsPerShape = 0.25;
constexpr int kStartsToRecord = 3;
constexpr int kStartsToReproduce = 4;  // at most; each is twice as long as the one before
constexpr int kCalls = 8;

// What a recorded time depends on: a new machine, baseline or version of its libraries needs a new record.
std::string key_of(const std::string& machine, const std::string& baseline, const protocol::Loaded& loaded) {
  std::string key = fmt::format("{} / {} / {} {}", machine, baseline, name(loaded.kind), name(loaded.device));
  for (const auto& [what, version] : loaded.versions) key += fmt::format(", {} {}", what, version);
  return key;
}

// Time of a call in the fastest batch.
double fastest_ns(GateContext& at, const Problem& problem, std::uint64_t seed, double seconds) {
  const DeviceTurns::Turn alone = at.workers().turns().take_gpu();
  at.workers().inputs().renew(problem, seed);
  TimedSide side(at.sides.opponent(), problem, at.workers(), seed);
  double least = 0;
  const double start_s = measuring_clock_s();
  do {
    const double ns = side.run(kCalls).ns / kCalls;
    least = least == 0 ? ns : std::min(least, ns);
  } while (measuring_clock_s() - start_s < seconds);
  return least;
}

// Suggests a wider bound if the error is finite: it may be rounding that the default bound does not cover.
std::string what_to_do(const Agreement& agreement) {
  if (!std::isfinite(agreement.max_error) || agreement.unwritten > 0 || agreement.max_error == 0)
    return "fix the baseline, or the description of the operator under [operator] in dent.toml";
  return fmt::format(
      "if the baseline is as right as it should be, widen the bound under [operator] in dent.toml: tolerance "
      "= {{ absolute = {:.0e} }}; else fix the baseline, or [operator]",
      2 * agreement.max_error);
}

// Checks the baseline's results on every shape; a wrong baseline can't be compared with.
std::optional<GateResult> wrong_somewhere(GateContext& at) {
  const std::string& name = at.facts.session().baseline;
  const auto& problems = at.workers().problems();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Problem& problem = problems[p];
    at.progress(0, problem.shape);
    Random random(at.seed + p);
    const CallInputs inputs = draw_inputs(at.workers(), problem, random);
    const Call call =
        call_once(at.sides.opponent(), problem, inputs, at.workers(), at.project().limits.call_seconds);
    if (!call.kept.mismatches.empty())
      return failed(Cause::environment, "baseline " + name + ": " + call.kept.mismatches.front(),
                    "change the baseline, or outputs under [operator] in dent.toml");
    const Agreement agreement = at.sides.oracle().judge(problem, inputs, call.outputs);
    if (agreement.ok()) continue;
    return failed(Cause::environment,
                  fmt::format("baseline {} is wrong on {}: {} of {} elements, first {}", name, problem.shape,
                              agreement.bad, agreement.elements, agreement.first_bad),
                  what_to_do(agreement));
  }
  return std::nullopt;
}

// Memory placement makes a CPU program faster or slower for its whole life, so it is started several times. A
// GPU program is not affected, and takes seconds to start.
int starts_to_record(const Worker& baseline) {
  return baseline.loaded().device == DeviceKind::cpu ? kStartsToRecord : 1;
}

struct Measured {
  FastestByShape by_shape;
  std::optional<Disturbance> busy;  // the worst disturbance, if the machine was busy
};

// Measures every shape. Starts the baseline again until it reproduces the record, or often enough to know how
// much its starts differ.
Measured measure(GateContext& at, const FastestByShape& recorded) {
  Measured measured;
  const double within = at.project().performance.baseline_within;
  const auto& problems = at.workers().problems();
  Random random(at.seed);
  for (int start = 0; start < kStartsToReproduce; ++start) {
    std::vector<const Problem*> open;  // shapes that another start may tell more about
    for (const Problem& problem : problems) {
      if (problem.weight == 0) continue;
      const auto before = recorded.find(problem.shape);
      const bool settled = before == recorded.end()
                               ? start >= starts_to_record(at.sides.opponent())
                               : start > 0 && reproduced(before->second, measured.by_shape[problem.shape],
                                                         within) == Reproduced::yes;
      if (!settled) open.push_back(&problem);
    }
    if (open.empty()) break;
    if (start > 0) at.sides.restart();
    const Worker& baseline = at.sides.opponent();
    const Watch watch({baseline.group()});
    for (const Problem* problem : open) {
      at.progress(static_cast<double>(start) / kStartsToReproduce, problem->shape);
      const double seconds = kSecondsPerShape * (recorded.contains(problem->shape) ? 1 << start : 1);
      measured.by_shape[problem->shape].add_start(fastest_ns(at, *problem, random.next(), seconds));
    }
    const Disturbance disturbance = watch.so_far();
    const bool busy =
        baseline.loaded().device == DeviceKind::cpu && is_busy(disturbance, at.rules.performance.quiet);
    if (busy && (!measured.busy || disturbance.waited > measured.busy->waited)) measured.busy = disturbance;
  }
  return measured;
}

class BaselineGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "baseline",
        .command = "",
        .question = "Is the baseline right, and as fast as before?",
        .about = "Measures the baseline, and compares it with the time recorded for this machine",
        .passes_when =
            "it is right, and slower than recorded for this machine by no more than 10 % plus the spread "
            "of its starts; a busy machine may be slower, and records nothing",
        .otherwise = "the session stops: find out what has changed, or record it again with `--rebaseline`",
        .uses = Uses::device,
        .needs = {"build"},
        .options = {
            {"rebaseline", "Record the baseline's time on this machine again", &GateOptions::rebaseline}}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {10.0 * static_cast<double>(project.shapes.size()), "stops when the baseline does not reproduce",
            fmt::format("within {:.0f} %", 100 * project.performance.baseline_within)};
  }

  GateResult run(GateContext& at) const override;
};

}  // namespace

GateResult BaselineGate::run(GateContext& at) const {
  if (auto wrong = wrong_somewhere(at)) return *std::move(wrong);
  const std::string& name = at.facts.session().baseline;
  const std::filesystem::path file = at.store.folder() / "baselines.json";
  Book book = read_book(file);
  FastestByShape& recorded =
      book.baselines[key_of(at.facts.machine_name(), name, at.sides.opponent().loaded())];
  if (at.options.rebaseline) recorded.clear();
  const Measured measured = measure(at, recorded);

  std::vector<std::string> fresh, faster, slower;  // shapes
  for (const auto& [shape, now] : measured.by_shape) {
    const auto before = recorded.find(shape);
    if (before == recorded.end()) {
      fresh.push_back(shape);
      continue;
    }
    const Reproduced how = reproduced(before->second, now, at.project().performance.baseline_within);
    if (how == Reproduced::faster) faster.push_back(shape);
    if (how == Reproduced::slower) slower.push_back(shape);
  }
  const auto against_before = [&](const std::string& shape) {
    const double before = recorded.at(shape).ns, now = measured.by_shape.at(shape).ns;
    return fmt::format("{} takes {:.1f} us on {}; it took {:.1f} us before on this machine ({:+.0f} %)", name,
                       now / 1e3, shape, before / 1e3, 100 * (now / before - 1));
  };
  GateResult result;
  if (!slower.empty() && !measured.busy) {
    result = failed(Cause::environment, against_before(slower.front()),
                    "find out what has changed (clocks, versions, power); if the change is intended: "
                    "dent run --rebaseline, on a quiet machine, records the new time");
  } else if (measured.busy) {
    result = passed(fmt::format("{}{}; nothing is recorded",
                                slower.empty() ? name + " is right" : against_before(slower.front()),
                                "; " + busy_in_words(*measured.busy)),
                    "dent run --rebaseline records it when the machine is quiet");
  } else if (!faster.empty()) {
    result = passed(against_before(faster.front()) + "; the new time is recorded");
  } else if (!fresh.empty()) {
    result =
        passed(fmt::format("{} measured on {} shapes and recorded for this machine", name, fresh.size()));
  } else {
    result = passed(fmt::format("{} reproduces on {} shapes", name, measured.by_shape.size()));
  }
  for (const auto& [shape, now] : measured.by_shape)
    result.figures.push_back({"fastest " + shape, now.ns, "ns"});
  if (result.failed() == nullptr && !measured.busy) {
    for (const auto* shapes : {&fresh, &faster}) {
      for (const std::string& shape : *shapes) recorded[shape] = measured.by_shape.at(shape);
    }
    write_book(file, std::move(book));
  }
  return result;
}

const Gate& baseline_gate() {
  static const BaselineGate gate;
  return gate;
}

}  // namespace dent

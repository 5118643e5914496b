// SPDX-License-Identifier: MIT
// Checks one shape's results: several fresh seeds, poisoned outputs, every element against the reference.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "gates/context.h"
#include "gates/judging/call.h"
#include "gates/judging/misbehaviour.h"
#include "gates/judging/replays.h"
#include "gates/judging/stale.h"
#include "gates/registry.h"

namespace dent {
namespace {

// How long to wait for writes of threads that the kernel left running.
constexpr auto kLateWriteWait = std::chrono::milliseconds(3);
constexpr auto kLateWritePatience = std::chrono::milliseconds(100);

record::Correctness record_of(const GateContext& at, int seeds, const Agreement& all) {
  return {.shape = at.problem->shape,
          .held_out = at.held_out,
          .seeds = seeds,
          .elements = static_cast<std::int64_t>(all.elements),
          .bad = static_cast<std::int64_t>(all.bad),
          .unchecked = static_cast<std::int64_t>(all.skipped),
          .unwritten = static_cast<std::int64_t>(all.unwritten),
          .max_error = all.max_error,
          .mean_error = all.mean_error,
          .bound = all.bound,
          .share_of_bound = all.largest_share,
          .max_relative_error = all.max_relative_error,
          .verdict = all.ok() ? StepVerdict::pass : StepVerdict::fail,
          .first_bad = all.first_bad_record};
}

GateResult wrong(const Agreement& all, const std::string& shape) {
  std::string reason =
      fmt::format("{} of {} elements are wrong; first: {}", all.bad, all.elements, all.first_bad);
  if (all.unwritten > 0) reason += fmt::format("; {} were never written", all.unwritten);
  return failed(Cause::incorrect, std::move(reason), "fix the kernel, then: dent check --shape " + shape);
}

class CorrectnessGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{.name = "correctness",
                                .command = "check",
                                .question = "Is the kernel right?",
                                .about = "Check the kernel's results, smallest shape first",
                                .passes_when =
                                    "every element is within its bound for fresh seeds, two calls give equal "
                                    "bits, nothing else is written",
                                .otherwise = "the first bad element with both values",
                                .example = "  dent check\n  dent check --shape tiny",
                                .scope = Scope::each_shape,
                                .uses = Uses::device,
                                .needs = {"build"},
                                .kinds = {"correctness", "cheat"}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {project.correctness.seconds,
            fmt::format("{} seeds; the first wrong element stops the session", project.correctness.seeds),
            "each element within its bound"};
  }

  GateResult run(GateContext& at) const override;
};

}  // namespace

GateResult CorrectnessGate::run(GateContext& at) const {
  const CorrectnessRules& rules = at.project().correctness;
  const double seconds = at.project().limits.call_seconds;
  const Problem& problem = *at.problem;
  const std::string& step = at.step;
  at.progress(0, "starting workers");
  Worker& candidate = at.sides.candidate();
  if (auto found = stale_build(at)) return *std::move(found);
  Random random(at.seed);
  set_problem(candidate, problem, at.workers(), seconds);
  Agreement all;
  Replays replays;
  int seeds = 0;
  for (; seeds < rules.seeds; ++seeds) {
    at.progress(static_cast<double>(seeds) / rules.seeds,
                fmt::format("seed {} of {}", seeds + 1, rules.seeds));
    const CallInputs inputs = draw_inputs(at.workers(), problem, random);
    const auto once = [&] { return call_again(candidate, problem, inputs, seconds, kLateWriteWait); };
    const Call call = once();
    const Delivered& outputs = call.outputs;
    auto problem_found = misbehaviour(call.kept, step, problem);
    if (!problem_found) {
      all.absorb(at.sides.oracle().judge(problem, inputs, outputs));
      if (!all.ok()) {  // wrong, or not written yet: wait and look again
        std::this_thread::sleep_for(kLateWritePatience);
        problem_found = misbehaviour(candidate.keep(0, seconds), step, problem);
      }
      if (problem_found) {
        // a late write is the reason
      } else if (!all.ok() && replays.seen(inputs, outputs))
        problem_found = cheat(Cheat::replayed_output, all.first_bad, step, problem.shape);
      else if (!all.ok())
        problem_found = wrong(all, problem.shape);
      else if (all.zeros_would_pass) {
        problem_found =
            failed(Cause::environment, "the tolerance is so wide that an output of zeros would pass",
                   "make operator.tolerance smaller, or the inputs larger");
      }
    }
    if (!problem_found && rules.deterministic) {
      const Call again = once();
      problem_found = misbehaviour(again.kept, step, problem);
      if (!problem_found && again.outputs != outputs) {
        problem_found = failed(Cause::incorrect, "a second call with the same inputs gave other bits",
                               "look for a race or uninitialised memory; if it is intended, set "
                               "correctness.deterministic = false");
      }
    }
    replays.remember(inputs, outputs);
    if (!problem_found) problem_found = left_behind(candidate, step, problem);
    if (problem_found) {
      problem_found->records.insert(problem_found->records.begin(), record_of(at, seeds + 1, all));
      return *problem_found;
    }
    if (seeds + 1 < rules.seeds && at.box.elapsed_s() > at.box.seconds * (seeds + 1) / (seeds + 2)) {
      ++seeds;
      break;  // another seed would not fit into the time box
    }
  }
  const record::Correctness record = record_of(at, seeds, all);
  GateResult result = passed(fmt::format(
      "{} elements within their bounds, worst error {:.2g} ({:.0f} % of its bound), {} {}{}", all.elements,
      record.worst_error(), 100 * all.largest_share, seeds, seeds == 1 ? "seed" : "seeds",
      all.skipped > 0 ? fmt::format(", random rows of {} elements", all.elements + all.skipped) : ""));
  result.records.emplace_back(record);
  return result;
}

const Gate& correctness_gate() {
  static const CorrectnessGate gate;
  return gate;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "session/run.h"

#include <fmt/format.h>

#include "base/stopwatch.h"

namespace dent {
namespace {

// The shape that stands worst against the baseline, of those below performance.profile_below.
std::optional<std::size_t> slowest_shape(const SessionFacts& facts, const Project& project) {
  std::optional<std::size_t> slowest;
  double ratio = project.performance.profile_below;
  for (const record::Comparison& comparison : facts.comparisons(Against::baseline)) {
    // By the centre one of two equals would be the slower. Too few pairs for an interval still have medians.
    const double here = comparison.verdict == SpeedVerdict::same ? 1.0
                        : comparison.ratio                       ? comparison.ratio->centre
                                           : comparison.baseline_ns / comparison.candidate_ns;
    if (!(here < ratio)) continue;
    ratio = here;
    for (std::size_t i = 0; i < project.shapes.size(); ++i) {
      if (project.shapes[i].name == comparison.shape) slowest = i;
    }
  }
  return slowest;
}

GateResult perform(Session& session, Step step, Sides& sides, const record::Gate* stopped_by) {
  const Project& project = sides.workers().project();
  if (step.gate == nullptr) return session.report(step);
  if (stopped_by != nullptr && !step.gate->runs_after(stopped_by->cause.value_or(Cause::environment)))
    return session.settle(step, skipped("not reached: " + stopped_by->step + " failed"));
  const double minutes = session.facts().elapsed_s() / 60;
  if (project.budget.minutes > 0 && minutes > project.budget.minutes) {
    return session.settle(step, failed(Cause::budget,
                                       fmt::format("{:.1f} minutes are spent; the budget was {}", minutes,
                                                   project.budget.minutes),
                                       "raise budget.minutes in dent.toml and go on: dent resume"));
  }
  if (step.gate->info().scope == Scope::worst_shape) {
    if (const auto slowest = slowest_shape(session.facts(), project)) {
      step.shape = slowest;
    } else if (!step.asked_for) {
      return session.settle(step,
                            skipped(fmt::format("no shape is below {}x", project.performance.profile_below)));
    }
  }
  return session.perform(step, sides);
}

}  // namespace

Conclusion run_plan(Session& session, const SessionRequest& request, Sides& sides) {
  const auto start = std::chrono::steady_clock::now();
  const double waited = waited_for_user_s() + waited_for_turn_s();
  const double own_before = session.facts().own_s();
  session.open(request, sides);
  std::size_t done = 0;
  for (const Step& step : request.plan) done += session.facts().finished(step.name) != nullptr ? 1 : 0;
  session.show(request.plan, done);
  std::string stopped_by;
  for (const Step& step : request.plan) {
    const GateResult result = perform(session, step, sides, session.facts().finished(stopped_by));
    if (result.failed() != nullptr && stopped_by.empty()) stopped_by = step.name;
  }
  const double own_in_steps = session.facts().own_s() - own_before;
  return session.conclude(
      conclude(session.folder().id, request.plan, session.facts()),
      seconds_since(start) - (waited_for_user_s() + waited_for_turn_s() - waited) - own_in_steps);
}

Conclusion run_plan(const Project& project, SessionStore& store, const SessionFolder& folder,
                    const SessionRequest& request, Observer& observer) {
  Session session(project, store, folder, observer);
  const Resources resources = find_resources();
  KernelBuilder builder(project, store.folder(), resources.include);
  WorkerFactory workers(project, resources, builder);
  Oracle oracle(workers, folder.artifacts());
  Sides sides(workers, oracle, project.kernel, folder.artifacts());
  return run_plan(session, request, sides);
}

}  // namespace dent

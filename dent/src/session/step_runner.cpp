// SPDX-License-Identifier: MIT
#include "session/step_runner.h"

#include <algorithm>

#include "base/error.h"
#include "operators/fill.h"
#include "system/strays.h"

namespace dent {
namespace {

GateResult ask(const Step& step, GateContext& at) {
  try {
    return step.sums_up ? step.gate->sum_up(at) : step.gate->run(at);
  } catch (const KernelFailed& problem) {
    at.sides.restart();  // whichever it was: the next step starts afresh
    kill_strays();       // orphans of a process that is dead now
    if (step.may_fail) return skipped(problem.what());
    return failed(problem.failure(), step.name);
  } catch (const Error& problem) {
    if (step.may_fail) return skipped(problem.what());
    throw;
  }
}

}  // namespace

Step step_of(const Gate& gate, const Project& project, std::string name, std::optional<std::size_t> shape) {
  PlanEntry entry = gate.plan(project);
  return {.name = std::move(name),
          .gate = &gate,
          .shape = shape,
          .time_box_s = entry.time_box_s,
          .stop_rule = std::move(entry.stop_rule),
          .threshold = std::move(entry.threshold)};
}

Performed run_step(const Step& step, Sides& sides, const SessionFacts& facts, const SessionStore& store,
                   const Progress& progress) {
  const TimeBox box{step.time_box_s};
  const double waited = waited_for_user_s();
  WorkerFactory& workers = sides.workers();
  Performed performed;
  performed.seed = secret_seed();  // drawn now and told to nobody before the step has ended
  GateContext at{.step = step.name,
                 .sides = sides,
                 .problem = step.shape ? &workers.problems().at(*step.shape) : nullptr,
                 .facts = facts,
                 .store = store,
                 .rules = step.rules.value_or(MeasureRules{workers.project().performance}),
                 .seed = performed.seed,
                 .box = box,
                 .options = step.options,
                 .held_out = step.held_out,
                 .progress = progress};
  performed.result = ask(step, at);
  performed.seconds = box.elapsed_s();
  performed.own_s = std::max(0.0, performed.seconds - (waited_for_user_s() - waited));
  return performed;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "evaluation/standing.h"

#include "evaluation/evaluation.h"
#include "gates/registry.h"

namespace dent {

std::optional<Failed> measure_standing(Session& session, Sides& against_baseline, StandingOf whose,
                                       const std::string& prefix) {
  const Project& project = against_baseline.workers().project();
  record::Standing standing{.of = whose, .step = prefix, .ratio = {}, .shapes = {}};
  for (std::size_t shape = 0; shape < project.shapes.size(); ++shape) {
    if (!project.shapes[shape].timed()) continue;
    Step step = step_of(performance_gate(), project, prefix + "/" + project.shapes[shape].name, shape);
    step.rules = side_by_side(project, project.performance.alpha);
    const GateResult measured = session.perform(step, against_baseline);
    if (const Failed* how = measured.failed()) return *how;
    const auto gain = gain_of(measured);
    if (!gain) {
      const auto* comparison = measured.last<record::Comparison>();
      const bool busy = comparison != nullptr && comparison->busy;
      const GateResult unclear = session.settle(
          {.name = prefix}, failed(busy ? Cause::busy_machine : Cause::ambiguous,
                                   project.shapes[shape].name + ": too few samples for an interval",
                                   "raise performance.seconds in dent.toml"));
      return *unclear.failed();
    }
    standing.shapes.push_back(*gain);
  }
  against_baseline.restart();  // ends both workers before the next trial
  standing.ratio = mean_of(standing.shapes);
  session.append(std::move(standing));
  return std::nullopt;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "loop/search/prune.h"

#include <fmt/format.h>

#include "base/error.h"
#include "predict/launch_forecast.h"
#include "project/choice.h"

namespace dent {

std::string foreseen_failure(const Brief& brief, const Choice& choice) {
  const Project& project = *brief.project;
  const Kernel kernel = kernel_of(project, choice);
  if (kernel.device != DeviceKind::cuda || !kernel.launch.is_given()) return {};
  std::vector<Problem> problems;
  for (const Shape& shape : project.shapes) problems.push_back(make_problem(project.op, shape));
  const LaunchForecast seen = foresee(kernel, problems, {});
  if (!seen.failure.empty()) return seen.failure;
  for (const record::Prediction& prediction : seen.predictions) {
    for (const ShapeNow& now : brief.shapes) {
      const double allowed_us = now.incumbent_ns / 1e3 * (1 + project.optimize.shape_loss);
      if (now.shape.name == prediction.shape && allowed_us > 0 && prediction.least_us > allowed_us) {
        return fmt::format("shape {}: at least {:.1f} us with this launch; the incumbent takes {:.1f} us",
                           now.shape.name, prediction.least_us, now.incumbent_ns / 1e3);
      }
    }
  }
  return {};
}

}  // namespace dent

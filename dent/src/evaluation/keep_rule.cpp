// SPDX-License-Identifier: MIT
#include "evaluation/keep_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace dent {

double confirmation_alpha(double false_keep, int candidates) {
  return 2 * false_keep / std::max(candidates, 1);
}

bool loses_too_much(const ShapeGain& shape, const KeepRule& rule) {
  return shape.ratio.centre * (1 + rule.shape_loss) < 1 && shape.ratio.interval.high < 1;
}

Judgement judge_gains(std::span<const ShapeGain> shapes, const KeepRule& rule, std::optional<Ratio> given) {
  Judgement judgement;
  if (shapes.empty()) {
    judgement.reason = "nothing was measured";
    return judgement;
  }
  judgement.mean = given ? *given : mean_of(shapes);
  const Ratio& mean = *judgement.mean;
  const std::string figures =
      fmt::format("{:.3f}x ({:.3f} to {:.3f})", mean.centre, mean.interval.low, mean.interval.high);
  for (const ShapeGain& shape : shapes) {
    if (!(shape.ratio.centre * (1 + rule.shape_loss) >= 1)) {
      judgement.too_busy = shape.busy && !loses_too_much(shape, rule);
      judgement.reason = fmt::format("{} loses: {:.3f}x; no shape may lose more than {:g} %, mean {}",
                                     shape.shape, shape.ratio.centre, 100 * rule.shape_loss, figures);
      return judgement;
    }
  }
  // A mean over shapes none of which is clear proves nothing.
  const bool somewhere =
      std::ranges::any_of(shapes, [](const ShapeGain& shape) { return shape.ratio.interval.low > 1; });
  const bool proved = somewhere && mean.interval.low > 1;
  judgement.faster = proved && mean.centre >= 1 + rule.min_gain;
  judgement.too_busy = !proved && mean.interval.high >= 1 + rule.min_gain &&
                       std::ranges::any_of(shapes, [](const ShapeGain& shape) { return shape.busy; });
  judgement.reason = figures;
  if (!proved) {
    judgement.reason += mean.interval.high < 1 ? ", slower" : ", not proved faster";
  } else if (!judgement.faster) {
    judgement.reason += fmt::format(", less than the {:g} % that a change must gain", 100 * rule.min_gain);
  }
  return judgement;
}

}  // namespace dent

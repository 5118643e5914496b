// SPDX-License-Identifier: MIT
// When a change is an improvement.
//
// A loop tries many candidates, and the best of many equals looks better than they are. So a candidate that a
// first measurement calls faster is measured again, with fresh samples in fresh processes, and only the
// second measurement counts: its interval must leave out 1 at a level that is divided by the number of
// candidates the loop may try (Bonferroni). Whatever the first one was lucky in, the chance that a loop
// without any improvement in it keeps anything is at most `false_keep`. The gain that is reported is that of
// the second measurement, which nobody has selected.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "loop/outcome.h"

namespace dent {

struct KeepRule {
  double min_gain = 0.01;    // below it nothing is worth a change
  double shape_loss = 0.02;  // that no shape may lose, however good the mean
};

// alpha of the confirmation's two-sided interval: half of it lies on the side of a false gain.
double confirmation_alpha(double false_keep, int candidates);

struct Judgement {
  bool faster = false;
  std::optional<Ratio> mean{};
  std::string reason;  // one line, for people
};

// The geometric mean over all shapes leaves out 1 and reaches the least gain, and no shape loses more than it
// may.
Judgement judge_gains(std::span<const ShapeGain> shapes, const KeepRule& rule);

// Whether one shape alone already settles it: it is proved to lose more than it may.
bool loses_too_much(const ShapeGain& shape, const KeepRule& rule);

}  // namespace dent

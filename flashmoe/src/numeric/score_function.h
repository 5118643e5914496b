// SPDX-License-Identifier: MIT
// What happens to one score between q k^T and the softmax. Scores are in units of log2 here, scale * log2(e)
// * q k^T, and so are cap, slopes and sinks. cpu/scores-inl.h does the same for vectors.
#pragma once

#include <cmath>

#include "numeric/host_device.h"

namespace flashmoe {

struct ScoreFunction {
  float cap = 0;  // 0: none
  float inverse_cap = 0;

  ScoreFunction() = default;
  explicit ScoreFunction(float softcap) {
    if (softcap == 0) return;
    cap = softcap * 1.44269504088896341F;
    inverse_cap = 1 / cap;
  }

  struct Changed {
    float score;
    float derivative;  // by what it was
  };

  // First the cap, then the slope. `slope` is not in units of log2 yet.
  FLASHMOE_HD Changed operator()(float score, float slope, float distance) const {
    Changed changed{score, 1.0F};
    if (cap > 0) {
      const float t = tanhf(score * inverse_cap);
      changed = {cap * t, (1 - t) * (1 + t)};
    }
    changed.score -= slope * 1.44269504088896341F * distance;
    return changed;
  }
};

// What is added to a score, in units of log2. A finite number stays one: some say "hidden" by the lowest that
// there is, and a row of nothing else is no row that sees nothing.
FLASHMOE_HD inline float added_in_log2(float added) {
  constexpr float kLargest = 3.4028234663852886e38F;
  const float x = added * 1.44269504088896341F;
  if (added >= -kLargest && x < -kLargest) return -kLargest;
  return added <= kLargest && x > kLargest ? kLargest : x;
}

// The end of a row: its maximum and sum with a sink in them, and by what its output, not normalised, is to be
// multiplied. A row that has seen nothing has a sum of 0, whatever its maximum.
struct RowWithSink {
  float max, sum;
  float factor;

  FLASHMOE_HD RowWithSink(float row_max, float row_sum, float sink) {
    const float sink_log2 = sink * 1.44269504088896341F;
    if (row_sum == 0) row_max = -INFINITY;
    max = sink_log2 > row_max ? sink_log2 : row_max;
    const float base = max == -INFINITY ? 0.0F : max;
    const float rescale = exp2f(row_max - base);
    sum = row_sum * rescale + exp2f(sink_log2 - base);
    factor = sum == 0 ? 0.0F : rescale / sum;
  }
};

}  // namespace flashmoe

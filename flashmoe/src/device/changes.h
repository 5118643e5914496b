// SPDX-License-Identifier: MIT
// What would change a prediction most: the same work cut differently, and one more block on an SM.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/predict.h"

namespace flashmoe::device {

struct Change {
  std::string what;  // "share the work of each CTA among 32: 2 -> 64 CTAs"
  int64_t ctas = 0;
  double expected_us = 0;
};

inline constexpr double kWorthwhile = 0.97;  // changes that leave more of the time than this are not named

// The smallest power of two that brings this many CTAs to at least one for each SM.
int parts_to_fill(const Spec& spec, int64_t ctas);

// Of a plain kernel, best first. A change of the cut is counted without what merging the parts would cost.
std::vector<Change> changes(const Spec& spec, const Launch& launch, const Work& work);

// What it takes for one more block on an SM: the limiter at most so large. Nothing where only another
// architecture helps.
struct OneMore {
  Limiter limiter;
  int now = 0, then = 0;  // registers per thread, bytes of shared memory, or warps of a block
  int blocks = 0;         // on an SM then
};
std::optional<OneMore> one_more_block(const Spec& spec, const BlockNeeds& needs);

}  // namespace flashmoe::device

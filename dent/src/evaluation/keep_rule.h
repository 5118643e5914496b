// SPDX-License-Identifier: MIT
// When a change counts as an improvement.
//
// A loop tries many candidates, and the best of many equally fast ones looks faster than it is. So a
// candidate that is faster in a first measurement is measured again, and only the second measurement counts:
// its interval must exclude 1 at a level that is divided by the number of candidates the loop may try
// (Bonferroni).
//
// An interval from one pair of processes does not hold for another pair: memory placement can make two equal
// programs differ by some per cent for their whole lives. So the second measurement starts both programs
// several times, and its interval is Student's, from the scatter between starts: after 3 starts for large
// gains, after 7 for others, each look at half the level. So a loop without any real improvement keeps a
// change with probability at most `false_keep`. The reported gain is that of the second measurement, which is
// free of selection.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "records/outcome.h"

namespace dent {

struct KeepRule {
  double min_gain = 0.01;    // smaller gains are not worth a change
  double shape_loss = 0.02;  // largest loss of a single shape, however good the mean
};

// alpha of the confirmation's two-sided interval; half of it is for false gains.
double confirmation_alpha(double false_keep, int candidates);

inline constexpr int kFirstLook = 3, kLastLook = 7;  // starts at which it is judged

struct Judgement {
  bool faster = false;
  bool too_busy = false;  // the busy machine leaves open whether the change is worth keeping
  std::optional<Ratio> mean{};
  std::string reason;  // one line, for people
};

// Requires that the geometric mean over all shapes excludes 1 and reaches the least gain, that at least one
// shape is faster by itself, and that no shape loses more than allowed. `mean`: over shapes and starts, if
// there were several starts.
Judgement judge_gains(std::span<const ShapeGain> shapes, const KeepRule& rule,
                      std::optional<Ratio> mean = {});

// Whether one shape alone rules the change out: it proves a larger loss than allowed.
bool loses_too_much(const ShapeGain& shape, const KeepRule& rule);

}  // namespace dent

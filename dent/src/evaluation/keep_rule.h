// SPDX-License-Identifier: MIT
// When a change is an improvement.
//
// A loop tries many candidates, and the best of many equals looks better than they are. So a candidate that a
// first measurement calls faster is measured again, and only the second measurement counts: its interval must
// leave out 1 at a level that is divided by the number of candidates the loop may try (Bonferroni).
//
// An interval from one pair of processes says nothing about another pair: where their pages lie can make two
// equal programs differ by per cents for as long as they live. So the second measurement starts both programs
// anew several times, and its interval is Student's, from the scatter between those starts: after 3 of them
// for gains that leap to the eye, after 7 for the others, each look at half the level. Whatever the first
// measurement was lucky in, the chance that a loop without any improvement in it keeps anything is at most
// `false_keep`. The gain that is reported is that of the second measurement, which nobody has selected.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "records/outcome.h"

namespace dent {

struct KeepRule {
  double min_gain = 0.01;    // below it nothing is worth a change
  double shape_loss = 0.02;  // that no shape may lose, however good the mean
};

// alpha of the confirmation's two-sided interval: half of it lies on the side of a false gain.
double confirmation_alpha(double false_keep, int candidates);

inline constexpr int kFirstLook = 3, kLastLook = 7;  // starts after which the confirmation is judged

struct Judgement {
  bool faster = false;
  bool too_busy = false;  // the machine, to tell: a gain that would be kept is not proved, and not ruled out
  std::optional<Ratio> mean{};
  std::string reason;  // one line, for people
};

// The geometric mean over all shapes leaves out 1 and reaches the least gain, one shape at least is proved
// faster by itself, and no shape loses more than it may.
// `mean`: over shapes and starts, where there were several starts.
Judgement judge_gains(std::span<const ShapeGain> shapes, const KeepRule& rule,
                      std::optional<Ratio> mean = {});

// Whether one shape alone already settles it: it is proved to lose more than it may.
bool loses_too_much(const ShapeGain& shape, const KeepRule& rule);

}  // namespace dent

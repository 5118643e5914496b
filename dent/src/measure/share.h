// SPDX-License-Identifier: MIT
// A proportion with its confidence interval.
#pragma once

#include "measure/interval.h"

namespace dent {

// Interval for the probability of a property that `successes` of `of` things had; it misses with probability
// at most alpha for any sample size (Clopper and Pearson). For of = 0 it is 0 .. 1.
Interval share_interval(int successes, int of, double alpha);

}  // namespace dent

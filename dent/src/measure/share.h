// SPDX-License-Identifier: MIT
// A share of several, and the interval that it lies in.
#pragma once

#include "measure/interval.h"

namespace dent {

// Of `of` things, `successes` had a property: where the chance of it lies, so that the interval misses at
// most once in 1 / alpha times, however few there are (Clopper and Pearson). Nothing at all was seen of none:
// 0 .. 1.
Interval share_interval(int successes, int of, double alpha);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kept_pairs.h"
#include "kernels/naive/spec.h"

namespace flashmoe::kernels::naive {

// One column more than needed keeps threads that walk down a column in different banks.
struct Smem {
  float q[kTile][kSlice + 1];
  float kv[kTile][kSlice + 1];
  float p[kTile][kTile + 1];
};

// With the sums of the stretches before: each thread has a column of its own.
template <class Spec>
struct LongSmem : Smem {
  float stretches[Spec::outputs][kThreads];
};

// With the pairs of the tile at hand that dropout keeps.
template <class Plain>
struct GeneralSmem : Plain {
  KeptPairs kept;
};

}  // namespace flashmoe::kernels::naive

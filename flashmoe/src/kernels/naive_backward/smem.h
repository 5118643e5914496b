// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "kernels/kept_pairs.h"
#include "kernels/naive_backward/spec.h"

namespace flashmoe::kernels::naive_backward {

// One column more than needed keeps threads that walk down a column in different banks.
struct Smem {
  float own[kTile][kSlice + 1];    // rows that the block keeps
  float other[kTile][kSlice + 1];  // rows that stream by
  float scores[kTile][kTile + 1];  // P or dS, [own][other]
  float lse_log2[kTile];           // of the tile's queries
  float delta[kTile];
};

// With the pairs of the tile at hand that dropout keeps.
struct GeneralSmem : Smem {
  KeptPairs kept;
};

template <class Spec>
using SmemOf = std::conditional_t<Spec::general, GeneralSmem, Smem>;

}  // namespace flashmoe::kernels::naive_backward

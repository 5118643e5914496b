// SPDX-License-Identifier: MIT
// Which forms of hopper_backward its mutants are made of.
#pragma once

#include "kernels/hopper_backward/maps.h"
#include "kernels/hopper_backward/params.h"
#include "kernels/hopper_backward/spec.h"
#include "kernels/sequence_tiles.h"

namespace flashmoe::test {

constexpr int hopper_backward_tuning(int head_dim) {
  int index = 0;
  while (kernels::hopper_backward::kTunings[index].head_dim != head_dim) ++index;
  return index;
}

// The real kernel's parameters, whose maps a mutant's are copied from: to the compiler, each has a type of
// its own.
inline kernels::hopper_backward::Params hopper_backward_params(const kernels::BackwardParams& problem,
                                                               int tuning, const kernels::Places& places) {
  kernels::hopper_backward::Params params;
  params.problem = problem;
  kernels::hopper_backward::set_maps(params, kernels::hopper_backward::kTunings[tuning], places.q, places.k);
  return params;
}

}  // namespace flashmoe::test

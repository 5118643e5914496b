// SPDX-License-Identifier: MIT
// Which forms of hopper_forward its mutants are made of: those that dispatch chooses for the widest and the
// narrowest head.
#pragma once

#include <bit>

#include "kernels/hopper_forward/maps.h"
#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::test {

// The first row of the table with this head_dim and number of blocks per SM, for whole tiles or shares of
// them.
constexpr int hopper_tuning(int head_dim, int blocks_per_sm, bool splits) {
  const auto& table = kernels::hopper_forward::kTunings;
  int index = 0;
  while (table[index].head_dim != head_dim || table[index].blocks_per_sm != blocks_per_sm ||
         table[index].splits != splits)
    ++index;
  return index;
}

// The real kernel's parameters, whose maps a mutant's are copied from: to the compiler, each has a type of
// its own. Tensors have so many batch entries, or places for sequences.
inline kernels::hopper_forward::Params hopper_params(const kernels::ForwardParams& problem, int tuning,
                                                     unsigned blocks, const kernels::Places& places) {
  kernels::hopper_forward::Params params;
  params.problem = problem;
  const auto splits = static_cast<unsigned>(problem.num_splits);
  params.tiles =
      static_cast<unsigned>(problem.order.q_tiles * problem.order.heads * problem.order.batch) * splits;
  params.blocks = blocks * splits;
  params.pack_shift = std::countr_zero(static_cast<unsigned>(problem.pack));
  kernels::hopper_forward::set_maps(params, kernels::hopper_forward::kTunings[tuning], places.q, places.k);
  return params;
}

}  // namespace flashmoe::test

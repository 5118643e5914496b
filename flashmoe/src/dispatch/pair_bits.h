// SPDX-License-Identifier: MIT
// Where a call with a tensor keeps its bits, and what whole tiles have: at the end of its workspace.
#pragma once

#include <cstddef>

#include "flashmoe/attention.h"
#include "kernels/pair_bits.h"
#include "kernels/prepare_pairs/params.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

// Whether ampere_forward has them made before. All that it knows of a bool tensor are its bits; of one in 16
// bits it is worth knowing what tiles of many rows hide.
bool ampere_takes_bits(const ForwardProblem& problem);

// A workspace of `bytes` and behind it, for each batch entry and head that the tensor tells apart, a bit for
// every pair, twice for a backward, and 16 bytes for every 64 rows, and keys. No bits for a forward that adds
// the tensor.
std::size_t with_pair_bits(std::size_t bytes, const ForwardProblem& problem, bool backward);

// What prepare_pairs is told, with the bits at the end of the workspace; and what others are.
kernels::prepare_pairs::Params pair_bits_params(const ForwardProblem& problem, const Scores& scores,
                                                bool backward, Workspace workspace);
kernels::PairBits pair_bits(const kernels::prepare_pairs::Params& params);

}  // namespace flashmoe::dispatch

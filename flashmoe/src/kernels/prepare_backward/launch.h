// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_sums.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {

// fp16 and bf16; padded_dim is 64, 128 or 256. Rows of out and dout begin at multiples of 16 bytes, head_dim
// is a multiple of 8.
void launch(DType dtype, const BackwardParams& params, void* stream);
// The same for sequences of different lengths, in a workspace of one batch entry; views count by places
// (sequence_tiles.h).
void launch_sequences(DType dtype, const BackwardParams& params, const PaddedSequences& sequences,
                      void* stream);
// Zeros for the gradient of a tensor. Before launch(), behind which the main kernel may start early.
void launch_clear(const BackwardParams& params, const PairSums& dpairs, void* stream);

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/padded_sequences.h"

namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET {

// fp16 and bf16. Rows of dq begin at multiples of 16 bytes, head_dim is a multiple of 8.
void launch(DType dtype, const BackwardParams& params, void* stream);
// The same for sequences of different lengths, as prepare_backward has them.
void launch_sequences(DType dtype, const BackwardParams& params, const PaddedSequences& sequences,
                      void* stream);

}  // namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET

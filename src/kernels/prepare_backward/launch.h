// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/backward_params.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {

// fp16 and bf16; padded_dim is 64, 128 or 256. Rows of out and dout begin at multiples of 16 bytes, head_dim
// is a multiple of 8.
void launch(DType dtype, const BackwardParams& params, void* stream);

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/backward_params.h"

namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET {

// fp16 and bf16. Rows of dq begin at multiples of 16 bytes, head_dim is a multiple of 8.
void launch(DType dtype, const BackwardParams& params, void* stream);

}  // namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"

namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET {

// partial_dim: columns per row of params.partial_out.
void launch(DType dtype, const ForwardParams& params, int partial_dim, void* stream);

}  // namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"

namespace flashmoe::kernels::naive {

inline namespace FLASHMOE_TARGET {
void launch(DType dtype, const ForwardParams& params, unsigned blocks, void* stream);
}

}  // namespace flashmoe::kernels::naive

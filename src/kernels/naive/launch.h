// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"
#include "kernels/runs.h"

namespace flashmoe::kernels::naive {

inline namespace FLASHMOE_TARGET {
// Rows see `runs`, whatever mask `params` has.
void launch(DType dtype, const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::naive

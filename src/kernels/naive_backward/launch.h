// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/backward_params.h"

namespace flashmoe::kernels::naive_backward {

inline namespace FLASHMOE_TARGET {
// All of dq, dk and dv, by two kernels: nothing of the workspace, and no kernel before or behind.
void launch(DType dtype, const BackwardParams& params, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::naive_backward

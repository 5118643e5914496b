// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/sink_gradients/params.h"

namespace flashmoe::kernels::sink_gradients {

inline namespace FLASHMOE_TARGET {
void launch(DType dtype, const SinkParams& params, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::sink_gradients

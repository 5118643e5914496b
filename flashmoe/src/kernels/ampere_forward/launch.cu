// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/launch.h"

#include "kernels/ampere_forward/start.cuh"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

void launch_fp16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream) {
  start_any<fp16>(aligned, params, blocks, stream);
}

void launch(DType dtype, bool aligned, const ForwardParams& params, unsigned blocks, void* stream) {
  (dtype == DType::fp16 ? launch_fp16 : launch_bf16)(aligned, params, blocks, stream);
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

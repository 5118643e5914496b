// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/launch.h"

#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_fp16(const ForwardParams& params, int tuning, unsigned blocks, void* stream) {
  start_any<fp16>(params, tuning, blocks, stream);
}

void launch(DType dtype, const ForwardParams& params, int tuning, unsigned blocks, void* stream) {
  (dtype == DType::fp16 ? launch_fp16 : launch_bf16)(params, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

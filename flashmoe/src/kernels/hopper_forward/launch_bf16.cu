// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_bf16(const ForwardParams& params, int tuning, unsigned blocks, void* stream) {
  start_any<bf16>(params, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

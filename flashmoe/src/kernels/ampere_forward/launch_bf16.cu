// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/start.cuh"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

void launch_bf16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream) {
  start_any<bf16>(aligned, params, blocks, stream);
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_bits_bf16(const BackwardParams& params, const PairBits& bits, int tuning, void* stream) {
  start_with_bits<bf16>(params, bits, tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

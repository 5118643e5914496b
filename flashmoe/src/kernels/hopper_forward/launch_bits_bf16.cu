// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_bits_bf16(const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                      void* stream) {
  start_with_bits<bf16>(params, bits, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

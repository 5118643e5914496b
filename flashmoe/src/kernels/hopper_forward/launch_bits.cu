// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/launch.h"

#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_bits_fp16(const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                      void* stream) {
  start_with_bits<fp16>(params, bits, tuning, blocks, stream);
}

void launch_bits(DType dtype, const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                 void* stream) {
  (dtype == DType::fp16 ? launch_bits_fp16 : launch_bits_bf16)(params, bits, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

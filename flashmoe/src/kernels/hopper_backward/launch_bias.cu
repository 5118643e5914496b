// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/launch.h"
#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_bias_fp16(const BackwardParams& params, const PairBits& bits, const PairScoreParams& scores,
                      int tuning, void* stream) {
  start_with_bias<fp16>(params, bits, scores, tuning, stream);
}

void launch_bias(DType dtype, const BackwardParams& params, const PairBits& bits,
                 const PairScoreParams& scores, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_bias_fp16 : launch_bias_bf16)(params, bits, scores, tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

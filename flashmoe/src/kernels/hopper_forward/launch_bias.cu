// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_bias_fp16(const ForwardParams& params, const Runs& runs, const PairBits& bits,
                      const PairScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  start_with_bias<fp16>(params, runs, bits, scores, tuning, blocks, stream);
}

void launch_bias(DType dtype, const ForwardParams& params, const Runs& runs, const PairBits& bits,
                 const PairScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  (dtype == DType::fp16 ? launch_bias_fp16 : launch_bias_bf16)(params, runs, bits, scores, tuning, blocks,
                                                               stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

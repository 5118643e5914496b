// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_scores_fp16(const ForwardParams& params, const Runs& runs, Change change,
                        const ScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  start_with_change<fp16>(params, runs, change, scores, tuning, blocks, stream);
}

void launch_scores(DType dtype, const ForwardParams& params, const Runs& runs, Change change,
                   const ScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  (dtype == DType::fp16 ? launch_scores_fp16 : launch_scores_bf16)(params, runs, change, scores, tuning,
                                                                   blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

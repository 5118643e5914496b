// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/launch.h"
#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_scores_fp16(const BackwardParams& params, Change change, const ScoreParams& scores, int tuning,
                        void* stream) {
  start_with_change<fp16>(params, change, scores, tuning, stream);
}

void launch_scores(DType dtype, const BackwardParams& params, Change change, const ScoreParams& scores,
                   int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_scores_fp16 : launch_scores_bf16)(params, change, scores, tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

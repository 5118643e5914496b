// SPDX-License-Identifier: MIT
// The general form, in a file of its own: the compiler takes as long for it as for the plain one.
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

void launch_scores(DType dtype, const BackwardParams& params, const ScoreParams& scores, void* stream) {
  start<WithScores>(dtype, params, scores, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

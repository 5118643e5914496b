// SPDX-License-Identifier: MIT
// The general form with a tensor, in a file of its own as the one without.
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

void launch_pairs(DType dtype, const BackwardParams& params, const PairScoreParams& scores, void* stream) {
  start<WithPairs>(dtype, params, scores, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

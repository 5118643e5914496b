// SPDX-License-Identifier: MIT
// The general form, in a file of its own: the compiler takes as long for it as for the plain one.
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

void launch_general(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                    const PairDropout& dropout, void* stream) {
  start<General>(dtype, params, WithPairDropout<PairScoreParams>{scores, dropout}, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The general forms with dropout, in a file of their own as those without.
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {
namespace {

template <class Plain>
using Pairs = WithDropout<WithPairs<Plain>>;

}  // namespace

void launch_dropout(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                    const PairDropout& dropout, void* stream) {
  start<Pairs>(dtype, params, WithPairDropout<PairScoreParams>{scores, dropout}, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

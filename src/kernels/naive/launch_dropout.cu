// SPDX-License-Identifier: MIT
// The general forms with dropout, in a file of their own as those without.
#include "kernels/naive/launch.h"
#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {
namespace {

template <class Plain>
using Pairs = WithDropout<WithPairs<Plain>>;

}  // namespace

void launch_dropout(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
                    const PairScoreParams& scores, const PairDropout& dropout, unsigned blocks,
                    void* stream) {
  start<Pairs>(dtype, params, runs, table, WithPairDropout<PairScoreParams>{scores, dropout}, blocks, stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The general form, in a file of its own: the compiler takes as long for it as for the plain one.
#include "kernels/naive/launch.h"
#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

void launch_general(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
                    const PairScoreParams& scores, const PairDropout& dropout, unsigned blocks,
                    void* stream) {
  start<General>(dtype, params, runs, table, WithPairDropout<PairScoreParams>{scores, dropout}, blocks,
                 stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

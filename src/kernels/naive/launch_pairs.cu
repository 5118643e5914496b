// SPDX-License-Identifier: MIT
// The general form with a tensor, in a file of its own as the one without.
#include "kernels/naive/launch.h"
#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

void launch_pairs(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
                  const PairScoreParams& scores, unsigned blocks, void* stream) {
  start<WithPairs>(dtype, params, runs, table, scores, blocks, stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

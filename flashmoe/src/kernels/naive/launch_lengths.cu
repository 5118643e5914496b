// SPDX-License-Identifier: MIT
#include "kernels/naive/launch.h"
#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

void launch_lengths(DType dtype, const ForwardParams& params, const SequenceTiles& tiles,
                    const RowTable& table, const ScoreParams& scores, const PairDropout& dropout,
                    unsigned blocks, void* stream) {
  start<GeneralLengths>(dtype, params, {}, table, WithPairDropout<LengthParams>{{scores, tiles}, dropout},
                        blocks, stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/naive/launch.h"
#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

void launch_lengths(DType dtype, const ForwardParams& params, const SequenceTiles& tiles,
                    const RowTable& table, const ScoreParams& scores, unsigned blocks, void* stream) {
  start<WithLengths>(dtype, params, {}, table, LengthParams{scores, tiles}, blocks, stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

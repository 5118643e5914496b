// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

void launch_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths,
                    const PairDropout& dropout, void* stream) {
  start<GeneralLengths>(dtype, params, WithPairDropout<LengthParams>{lengths, dropout}, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

void launch_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths, void* stream) {
  start<WithLengths>(dtype, params, lengths, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"

#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

template <class Spec>
using Plain = Spec;

void launch(DType dtype, const BackwardParams& params, void* stream) {
  start<Plain>(dtype, params, NoScores{}, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/naive/launch.h"

#include "kernels/naive/start.cuh"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

template <class Spec>
using Plain = Spec;

void launch(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
            unsigned blocks, void* stream) {
  start<Plain>(dtype, params, runs, table, NoScores{}, blocks, stream);
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

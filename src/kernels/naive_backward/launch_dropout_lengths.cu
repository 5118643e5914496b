// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/start.cuh"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {
namespace {

template <class Plain>
using Lengths = WithDropout<WithLengths<Plain>>;

}  // namespace

void launch_dropout_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths,
                            const PairDropout& dropout, void* stream) {
  start<Lengths>(dtype, params, WithPairDropout<LengthParams>{lengths, dropout}, stream);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

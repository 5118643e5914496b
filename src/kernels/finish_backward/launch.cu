// SPDX-License-Identifier: MIT
#include "kernels/finish_backward/launch.h"

#include "kernels/finish_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET {
namespace {

template <class T, bool kByElement>
void start(const BackwardParams& params, void* stream) {
  const int64_t pieces = int64_t{params.batch} * params.q_heads * (params.padded_rows / kDqPieceRows) *
                         (params.padded_dim / kDqPieceColumns);
  gpu::launch(&finish_backward<T, kByElement>,
              {.kernel = "finish_backward",
               .blocks = static_cast<unsigned>(pieces),
               .threads = kThreads,
               .programmatic = true,
               .stream = stream},
              params);
}

template <class T>
void start(const BackwardParams& params, void* stream) {
  (params.sums_by_element ? start<T, true> : start<T, false>)(params, stream);
}

}  // namespace

void launch(DType dtype, const BackwardParams& params, void* stream) {
  (dtype == DType::fp16 ? start<fp16> : start<bf16>)(params, stream);
}

}  // namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/combine_splits/launch.h"

#include "kernels/combine_splits/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET {
namespace {

template <class T, int kColumns>
void start(const ForwardParams& params, int partial_dim, void* stream) {
  const int64_t rows = int64_t{params.order.batch} * params.q_heads * params.q_rows;
  gpu::launch(&combine_splits<T, kColumns>,
              {.kernel = "combine_splits",
               .blocks = static_cast<unsigned>((rows + kWarps - 1) / kWarps),
               .threads = 32 * kWarps,
               .stream = stream},
              params, partial_dim);
}

template <class T>
void start(const ForwardParams& params, int partial_dim, void* stream) {
  if (params.head_dim <= 64) return start<T, 2>(params, partial_dim, stream);
  if (params.head_dim <= 128) return start<T, 4>(params, partial_dim, stream);
  start<T, 8>(params, partial_dim, stream);
}

}  // namespace

void launch(DType dtype, const ForwardParams& params, int partial_dim, void* stream) {
  if (dtype == DType::fp16) return start<fp16>(params, partial_dim, stream);
  start<bf16>(params, partial_dim, stream);
}

}  // namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/prepare_backward/launch.h"

#include "kernels/prepare_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {
namespace {

template <class T, int kLanes>
void start(const BackwardParams& params, void* stream) {
  const int64_t rows = int64_t{params.batch} * params.q_heads * params.padded_rows;
  gpu::launch(&prepare_backward<T, kLanes>,
              {.kernel = "prepare_backward",
               .blocks = static_cast<unsigned>((rows * kLanes + kThreads - 1) / kThreads),
               .threads = kThreads,
               .stream = stream},
              params);
}

template <class T>
void start(const BackwardParams& params, void* stream) {
  if (params.padded_dim == 64) return start<T, 64 / kColumns>(params, stream);
  if (params.padded_dim == 128) return start<T, 128 / kColumns>(params, stream);
  start<T, 256 / kColumns>(params, stream);
}

}  // namespace

void launch(DType dtype, const BackwardParams& params, void* stream) {
  if (dtype == DType::fp16) return start<fp16>(params, stream);
  start<bf16>(params, stream);
}

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET

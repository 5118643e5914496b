// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"

#include "kernels/naive_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {
namespace {

template <class S>
void start(const BackwardParams& p, void* stream) {
  const auto blocks = [&](int rows, int heads) {
    return static_cast<unsigned>((rows + kTile - 1) / kTile * heads * p.batch);
  };
  gpu::launch(&naive_dkv<S>,
              {.kernel = "naive_dkv",
               .blocks = blocks(p.kv_rows, p.kv_heads),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              p);
  gpu::launch(&naive_dq<S>,
              {.kernel = "naive_dq",
               .blocks = blocks(p.q_rows, p.q_heads),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              p);
}

template <class T>
void start_any(const BackwardParams& p, void* stream) {
  if (p.head_dim <= 64) return start<Spec<T, 64>>(p, stream);
  if (p.head_dim <= 128) return start<Spec<T, 128>>(p, stream);
  start<Spec<T, 256>>(p, stream);
}

}  // namespace

void launch(DType dtype, const BackwardParams& params, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start_any<float>(params, stream);
    case DType::fp16:
      return start_any<fp16>(params, stream);
    case DType::bf16:
      return start_any<bf16>(params, stream);
  }
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The host side of naive_backward, for each of its forms.
#pragma once

#include "kernels/naive_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

template <class S>
void start_spec(const BackwardParams& p, const typename S::Scores& scores, void* stream) {
  const auto blocks = [&](int rows, int heads) {
    return static_cast<unsigned>((rows + kTile - 1) / kTile * heads * p.batch);
  };
  gpu::launch(&naive_dkv<S>,
              {.kernel = "naive_dkv",
               .blocks = blocks(p.kv_rows, p.kv_heads),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              p, scores);
  gpu::launch(&naive_dq<S>,
              {.kernel = "naive_dq",
               .blocks = blocks(p.q_rows, p.q_heads),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              p, scores);
}

// Form<S>: the spec S itself, or what changes scores.
template <template <class> class Form, class T, class Scores>
void start(const BackwardParams& p, const Scores& scores, void* stream) {
  if (p.head_dim <= 64) return start_spec<Form<Spec<T, 64>>>(p, scores, stream);
  if (p.head_dim <= 128) return start_spec<Form<Spec<T, 128>>>(p, scores, stream);
  start_spec<Form<Spec<T, 256>>>(p, scores, stream);
}

template <template <class> class Form, class Scores>
void start(DType dtype, const BackwardParams& params, const Scores& scores, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start<Form, float>(params, scores, stream);
    case DType::fp16:
      return start<Form, fp16>(params, scores, stream);
    case DType::bf16:
      return start<Form, bf16>(params, scores, stream);
  }
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

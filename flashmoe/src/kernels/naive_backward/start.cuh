// SPDX-License-Identifier: MIT
// The host side of naive_backward, for each of its forms.
#pragma once

#include "kernels/naive_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

template <class S>
void start_spec(const BackwardParams& p, const typename S::Scores& scores, void* stream) {
  unsigned k_blocks, q_blocks;
  if constexpr (S::lengths) {
    k_blocks = static_cast<unsigned>(scores.num_k_tiles * p.kv_heads);
    q_blocks = static_cast<unsigned>(scores.num_q_tiles * p.q_heads);
    if (q_blocks == 0) return;  // no sequence has both rows and keys
  } else {
    k_blocks = static_cast<unsigned>((p.kv_rows + kTile - 1) / kTile * p.kv_heads * p.batch);
    q_blocks = static_cast<unsigned>((p.q_rows + kTile - 1) / kTile * p.q_heads * p.batch);
  }
  gpu::launch(&naive_dkv<S>,
              {.kernel = "naive_dkv",
               .blocks = k_blocks,
               .threads = kThreads,
               .smem_bytes = sizeof(SmemOf<S>),
               .stream = stream},
              p, scores);
  gpu::launch(&naive_dq<S>,
              {.kernel = "naive_dq",
               .blocks = q_blocks,
               .threads = kThreads,
               .smem_bytes = sizeof(SmemOf<S>),
               .stream = stream},
              p, scores);
}

// Form<S>: the spec S itself, or a general one.
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

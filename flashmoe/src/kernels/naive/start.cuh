// SPDX-License-Identifier: MIT
// The host side of naive_forward, for each of its forms.
#pragma once

#include <type_traits>

#include "kernels/naive/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

template <class Spec>
void start_spec(const ForwardParams& params, const Runs& runs, const RowTable& table,
                const typename Spec::Scores& scores, unsigned blocks, void* stream) {
  gpu::launch(&naive_forward<Spec>,
              {.kernel = "naive_forward",
               .blocks = blocks,
               .threads = kThreads,
               .smem_bytes = sizeof(SmemOf<Spec>),
               .stream = stream},
              params, runs, table, scores);
}

// Form<S>: the spec S itself, or a general one.
template <template <class> class Form, class T, int kDim, class Scores>
void start(const ForwardParams& params, const Runs& runs, const RowTable& table, const Scores& scores,
           unsigned blocks, void* stream) {
  constexpr bool kAlwaysLong = std::is_same_v<T, float> && Form<Spec<T, kDim>>::lengths;  // whatever else is
                                                                                          // in the batch
  if constexpr (std::is_same_v<T, float>) {
    if (kAlwaysLong || params.kv_rows >= kLeastLongKeys)
      return start_spec<Form<LongSpec<T, kDim>>>(params, runs, table, scores, blocks, stream);
  }
  if constexpr (!kAlwaysLong) start_spec<Form<Spec<T, kDim>>>(params, runs, table, scores, blocks, stream);
}

template <template <class> class Form, class T, class Scores>
void start(const ForwardParams& params, const Runs& runs, const RowTable& table, const Scores& scores,
           unsigned blocks, void* stream) {
  if (params.head_dim <= 64) return start<Form, T, 64>(params, runs, table, scores, blocks, stream);
  if (params.head_dim <= 128) return start<Form, T, 128>(params, runs, table, scores, blocks, stream);
  start<Form, T, 256>(params, runs, table, scores, blocks, stream);
}

template <template <class> class Form, class Scores>
void start(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
           const Scores& scores, unsigned blocks, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start<Form, float>(params, runs, table, scores, blocks, stream);
    case DType::fp16:
      return start<Form, fp16>(params, runs, table, scores, blocks, stream);
    case DType::bf16:
      return start<Form, bf16>(params, runs, table, scores, blocks, stream);
  }
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

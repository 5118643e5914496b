// SPDX-License-Identifier: MIT
#include "kernels/naive/launch.h"

#include <type_traits>

#include "kernels/naive/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {
namespace {

template <class Spec>
void start_spec(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  gpu::launch(&naive_forward<Spec>,
              {.kernel = "naive_forward",
               .blocks = blocks,
               .threads = kThreads,
               .smem_bytes = sizeof(SmemOf<Spec>),
               .stream = stream},
              params, runs);
}

template <class T, int kDim>
void start(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  if constexpr (std::is_same_v<T, float>) {
    if (params.kv_rows >= kLeastLongKeys) return start_spec<LongSpec<T, kDim>>(params, runs, blocks, stream);
  }
  start_spec<Spec<T, kDim>>(params, runs, blocks, stream);
}

template <class T>
void start(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  if (params.head_dim <= 64) return start<T, 64>(params, runs, blocks, stream);
  if (params.head_dim <= 128) return start<T, 128>(params, runs, blocks, stream);
  start<T, 256>(params, runs, blocks, stream);
}

}  // namespace

void launch(DType dtype, const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start<float>(params, runs, blocks, stream);
    case DType::fp16:
      return start<fp16>(params, runs, blocks, stream);
    case DType::bf16:
      return start<bf16>(params, runs, blocks, stream);
  }
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type in a file of its own so that types build side by side.
#pragma once

#include "kernels/ampere_forward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

template <class T, int kDim, bool kAligned>
void start(const ForwardParams& params, unsigned blocks, void* stream) {
  using S = Spec<T, kDim, kAligned>;
  gpu::launch(&ampere_forward<S>,
              {.kernel = "ampere_forward",
               .blocks = blocks,
               .blocks_y = static_cast<unsigned>(params.num_splits),
               .threads = S::threads,
               .smem_bytes = sizeof(Smem<S>),
               .stream = stream},
              params);
}

template <class T>
void start_any(bool aligned, const ForwardParams& params, unsigned blocks, void* stream) {
  const int d = params.head_dim;
  if (!aligned) {
    if (d <= 64) return start<T, 64, false>(params, blocks, stream);
    if (d <= 128) return start<T, 128, false>(params, blocks, stream);
    return start<T, 256, false>(params, blocks, stream);
  }
  if (d <= 32) return start<T, 32, true>(params, blocks, stream);
  if (d <= 64) return start<T, 64, true>(params, blocks, stream);
  if (d <= 96) return start<T, 96, true>(params, blocks, stream);
  if (d <= 128) return start<T, 128, true>(params, blocks, stream);
  if (d <= 192) return start<T, 192, true>(params, blocks, stream);
  start<T, 256, true>(params, blocks, stream);
}

void launch_fp16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream);
void launch_bf16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream);

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

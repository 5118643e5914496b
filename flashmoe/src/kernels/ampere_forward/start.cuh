// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type in a file of its own so that types build side by side.
#pragma once

#include "kernels/ampere_forward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

template <class S>
gpu::LaunchShape shape_of(const ForwardParams& params, unsigned blocks, void* stream) {
  return {.kernel = "ampere_forward",
          .blocks = blocks,
          .blocks_y = static_cast<unsigned>(params.num_splits),
          .threads = S::threads,
          .smem_bytes = sizeof(Smem<S>),
          .stream = stream};
}

template <class T, int kDim, bool kAligned>
void start(const ForwardParams& params, unsigned blocks, void* stream) {
  using S = Spec<T, kDim, kAligned>;
  gpu::launch(&ampere_forward<S>, shape_of<S>(params, blocks, stream), params);
}

template <class T, int kDim>
void start_runs(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  using S = Spec<T, kDim, true>;
  gpu::launch(&ampere_forward_runs<S>, shape_of<S>(params, blocks, stream), params, runs);
}

template <class T, int kDim>
void start_general(const ForwardParams& params, const GeneralParams& general, unsigned blocks, void* stream) {
  using S = GeneralSpec<T, kDim>;
  gpu::launch(&ampere_forward_general<S>, shape_of<S>(params, blocks, stream), params, general);
}

template <class T, int kDim>
void start_pairs(const ForwardParams& params, const GeneralParams& general, const GeneralPairs& pairs,
                 unsigned blocks, void* stream) {
  using S = PairsSpec<T, kDim>;
  gpu::launch(&ampere_forward_pairs<S>, shape_of<S>(params, blocks, stream), params, general, pairs);
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

template <class T>
void start_any_runs(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  const int d = params.head_dim;
  if (d <= 64) return start_runs<T, 64>(params, runs, blocks, stream);
  if (d <= 128) return start_runs<T, 128>(params, runs, blocks, stream);
  start_runs<T, 256>(params, runs, blocks, stream);
}

template <class T>
void start_any_general(const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                       void* stream) {
  const int d = params.head_dim;
  if (d <= 64) return start_general<T, 64>(params, general, blocks, stream);
  if (d <= 128) return start_general<T, 128>(params, general, blocks, stream);
  start_general<T, 256>(params, general, blocks, stream);
}

template <class T>
void start_any_pairs(const ForwardParams& params, const GeneralParams& general, const GeneralPairs& pairs,
                     unsigned blocks, void* stream) {
  const int d = params.head_dim;
  if (d <= 64) return start_pairs<T, 64>(params, general, pairs, blocks, stream);
  if (d <= 128) return start_pairs<T, 128>(params, general, pairs, blocks, stream);
  start_pairs<T, 256>(params, general, pairs, blocks, stream);
}

void launch_fp16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream);
void launch_bf16(bool aligned, const ForwardParams& params, unsigned blocks, void* stream);
void launch_runs_fp16(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream);
void launch_runs_bf16(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream);
void launch_general_fp16(const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                         void* stream);
void launch_general_bf16(const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                         void* stream);
void launch_pairs_fp16(const ForwardParams& params, const GeneralParams& general, const GeneralPairs& pairs,
                       unsigned blocks, void* stream);
void launch_pairs_bf16(const ForwardParams& params, const GeneralParams& general, const GeneralPairs& pairs,
                       unsigned blocks, void* stream);

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

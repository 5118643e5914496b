// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type in a file of its own so that types build side by side.
#pragma once

#include <bit>
#include <utility>

#include "kernels/hopper_forward/kernel.cuh"
#include "kernels/hopper_forward/maps.h"
#include "primitives/launch.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class T, int kTuning, bool kCausal>
void start(const Params& params, void* stream) {
  using S = Spec<T, kTuning, kCausal>;
  gpu::launch(&hopper_forward<S>,
              {.kernel = "hopper_forward",
               .blocks = params.blocks,
               .threads = S::threads,
               .smem_bytes = sizeof(Smem<S>),
               .blocks_per_sm = S::tuning.blocks_per_sm,
               .stream = stream},
              params);
}

template <class T, int... kTuning>
void start_one_of(std::integer_sequence<int, kTuning...>, int tuning, const Params& params, void* stream) {
  using Start = void (*)(const Params&, void*);
  // Few tiles have their keys shared out: the causal kernel takes them without a mask too.
  constexpr Start kFull[] = {&start<T, kTuning, kTunings[kTuning].splits>...};
  constexpr Start kCausal[] = {&start<T, kTuning, true>...};
  (params.problem.causal ? kCausal : kFull)[tuning](params, stream);
}

template <class T>
void start_any(const ForwardParams& problem, int tuning, unsigned blocks, void* stream) {
  Params params;
  params.problem = problem;
  const auto splits = static_cast<unsigned>(problem.num_splits);
  params.tiles =
      static_cast<unsigned>(problem.order.q_tiles * problem.order.heads * problem.order.batch) * splits;
  params.blocks = blocks * splits;
  params.pack_shift = std::countr_zero(static_cast<unsigned>(problem.pack));
  set_maps(params, kTunings[tuning]);
  start_one_of<T>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

void launch_fp16(const ForwardParams& params, int tuning, unsigned blocks, void* stream);
void launch_bf16(const ForwardParams& params, int tuning, unsigned blocks, void* stream);

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

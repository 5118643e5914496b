// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type in a file of its own so that types build side by side.
#pragma once

#include <utility>

#include "kernels/ampere_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

template <class T, int kTuning, bool kRuns>
void start(const BackwardParams& params, void* stream) {
  using S = Spec<T, kTuning, kRuns>;
  const TileOrder& order = params.order;
  gpu::launch(&ampere_backward<S>,
              {.kernel = "ampere_backward",
               .blocks = static_cast<unsigned>(order.q_tiles * order.heads * order.batch),
               .threads = S::threads,
               .smem_bytes = sizeof(Smem<S>),
               .blocks_per_sm = S::tuning.blocks_per_sm,
               .programmatic = true,
               .stream = stream},
              params);
}

template <class T, bool kRuns, int... kTuning>
void start_one_of(std::integer_sequence<int, kTuning...>, int tuning, const BackwardParams& params,
                  void* stream) {
  using Start = void (*)(const BackwardParams&, void*);
  constexpr Start kStarts[] = {&start<T, kTuning, kRuns>...};
  kStarts[tuning](params, stream);
}

template <class T, bool kRuns>
void start_any(const BackwardParams& params, int tuning, void* stream) {
  start_one_of<T, kRuns>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

void launch_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_bf16(const BackwardParams& params, int tuning, void* stream);

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

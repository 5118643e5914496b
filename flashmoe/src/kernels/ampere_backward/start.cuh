// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type in a file of its own so that types build side by side.
#pragma once

#include <utility>

#include "kernels/ampere_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

template <class T, int kTuning, Form kForm>
void start(const typename Spec<T, kTuning, kForm>::Params& params, void* stream) {
  using S = Spec<T, kTuning, kForm>;
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

template <class T, Form kForm, int... kTuning>
void start_one_of(std::integer_sequence<int, kTuning...>, int tuning, const BackwardParams& params,
                  void* stream) {
  using Start = void (*)(const BackwardParams&, void*);
  constexpr Start kStarts[] = {&start<T, kTuning, kForm>...};
  kStarts[tuning](params, stream);
}

template <class T, Form kForm>
void start_any(const BackwardParams& params, int tuning, void* stream) {
  start_one_of<T, kForm>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T, Form kForm, int kTuning, class Params>
constexpr auto general_start() -> void (*)(const Params&, void*) {
  if constexpr (is_general(kTuning)) return &start<T, kTuning, kForm>;
  return nullptr;
}

template <class T, Form kForm, class Params, int... kTuning>
void start_general(std::integer_sequence<int, kTuning...>, int tuning, const Params& params, void* stream) {
  using Start = void (*)(const Params&, void*);
  constexpr Start kStarts[] = {general_start<T, kForm, kTuning, Params>()...};
  kStarts[tuning](params, stream);
}

// kForm: of the rows that is_general() names.
template <class T, Form kForm, class Params>
void start_general(const Params& params, int tuning, void* stream) {
  start_general<T, kForm>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

void launch_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_general_fp16(const GeneralParams& params, int tuning, void* stream);
void launch_general_bf16(const GeneralParams& params, int tuning, void* stream);
void launch_pairs_fp16(const GeneralPairParams& params, int tuning, void* stream);
void launch_pairs_bf16(const GeneralPairParams& params, int tuning, void* stream);

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

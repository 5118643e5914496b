// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type, and for runs, in files of their own so that they build
// side by side.
#pragma once

#include <utility>

#include "kernels/bias_map.h"
#include "kernels/hopper_backward/kernel.cuh"
#include "kernels/hopper_backward/maps.h"
#include "primitives/launch.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

template <class T, int kTuning, Visible kVisible, Change kChange = Change::none>
void start(const Params& params, void* stream) {
  using S = Spec<T, kTuning, kVisible, kChange>;
  static_assert(sizeof(Smem<S>) <= 227 * 1024, "what sm_90 gives a block");
  const TileOrder& order = params.problem.order;
  gpu::launch(&hopper_backward<S>,
              {.kernel = "hopper_backward",
               .blocks = S::persistent ? params.problem.blocks
                                       : static_cast<unsigned>(order.q_tiles * order.heads * order.batch),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem<S>),
               .programmatic = true,
               .stream = stream},
              params);
}

template <class T, Visible kVisible, int... kTuning>
void start_one_of(std::integer_sequence<int, kTuning...>, int tuning, const Params& params, void* stream) {
  using Start = void (*)(const Params&, void*);
  constexpr Start kStarts[] = {&start<T, kTuning, kVisible>...};
  kStarts[tuning](params, stream);
}

template <class T, Visible kVisible>
void start_any(const BackwardParams& problem, int tuning, void* stream) {
  Params params;
  params.problem = problem;
  set_maps(params, kTunings[tuning], problem.batch, problem.batch);
  start_one_of<T, kVisible>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T>
void start_with_lengths(const BackwardParams& problem, const SequenceTiles& sequences,
                        const PaddedSequences& padded, const Places& places, int tuning, void* stream) {
  Params params;
  params.problem = problem;
  params.sequences = sequences;
  params.padded = padded;
  set_maps(params, kTunings[tuning], places.q, places.k);
  start_one_of<T, Visible::lengths>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T>
void start_with_bits(const BackwardParams& problem, const PairBits& bits, int tuning, void* stream) {
  Params params;
  params.problem = problem;
  params.bits = bits;
  set_maps(params, kTunings[tuning], problem.batch, problem.batch);
  start_one_of<T, Visible::bits>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T, int kTuning>
constexpr auto start_for_bias() -> void (*)(const Params&, void*) {
  if constexpr (takes_bias(kTunings[kTuning])) return &start<T, kTuning, Visible::tiles, Change::bias>;
  return nullptr;
}

template <class T, int... kTuning>
void start_one_with_bias(std::integer_sequence<int, kTuning...>, int tuning, const Params& params,
                         void* stream) {
  using Start = void (*)(const Params&, void*);
  constexpr Start kStarts[] = {start_for_bias<T, kTuning>()...};
  kStarts[tuning](params, stream);
}

template <class T>
void start_with_bias(const BackwardParams& problem, const PairBits& bits, const PairScoreParams& scores,
                     int tuning, void* stream) {
  Params params;
  params.problem = problem;
  params.bits = bits;
  params.scores = scores;
  params.bias = bias_map(scores.pairs, problem.batch, problem.q_heads);
  set_maps(params, kTunings[tuning], problem.batch, problem.batch);
  start_one_with_bias<T>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T, int... kTuning>
void start_with_change(std::integer_sequence<int, kTuning...>, Change change, int tuning,
                       const Params& params, void* stream) {
  using Start = void (*)(const Params&, void*);
  constexpr Start kCapped[] = {&start<T, kTuning, Visible::runs, Change::softcap>...};
  constexpr Start kSloped[] = {&start<T, kTuning, Visible::runs, Change::slopes>...};
  (change == Change::softcap ? kCapped : kSloped)[tuning](params, stream);
}

template <class T>
void start_with_change(const BackwardParams& problem, Change change, const ScoreParams& scores, int tuning,
                       void* stream) {
  Params params;
  params.problem = problem;
  params.scores = scores;
  set_maps(params, kTunings[tuning], problem.batch, problem.batch);
  start_with_change<T>(std::make_integer_sequence<int, kNumTunings>(), change, tuning, params, stream);
}

void launch_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_runs_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_rows_fp16(const BackwardParams& params, int tuning, void* stream);
void launch_rows_bf16(const BackwardParams& params, int tuning, void* stream);
void launch_lengths_fp16(const BackwardParams& params, const SequenceTiles& sequences,
                         const PaddedSequences& padded, const Places& places, int tuning, void* stream);
void launch_lengths_bf16(const BackwardParams& params, const SequenceTiles& sequences,
                         const PaddedSequences& padded, const Places& places, int tuning, void* stream);
void launch_bits_fp16(const BackwardParams& params, const PairBits& bits, int tuning, void* stream);
void launch_bits_bf16(const BackwardParams& params, const PairBits& bits, int tuning, void* stream);
void launch_bias_fp16(const BackwardParams& params, const PairBits& bits, const PairScoreParams& scores,
                      int tuning, void* stream);
void launch_bias_bf16(const BackwardParams& params, const PairBits& bits, const PairScoreParams& scores,
                      int tuning, void* stream);
void launch_scores_fp16(const BackwardParams& params, Change change, const ScoreParams& scores, int tuning,
                        void* stream);
void launch_scores_bf16(const BackwardParams& params, Change change, const ScoreParams& scores, int tuning,
                        void* stream);

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

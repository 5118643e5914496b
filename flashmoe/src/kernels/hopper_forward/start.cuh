// SPDX-License-Identifier: MIT
// The launch of one form, compiled per element type, and for runs, in files of their own so that they build
// side by side.
#pragma once

#include <bit>
#include <utility>

#include "kernels/bias_map.h"
#include "kernels/hopper_forward/kernel.cuh"
#include "kernels/hopper_forward/maps.h"
#include "primitives/launch.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class T, int kTuning, Visible kVisible, Change kChange = Change::none>
void start(const Params& params, void* stream) {
  using S = Spec<T, kTuning, kVisible, kChange>;
  gpu::launch(&hopper_forward<S>,
              {.kernel = "hopper_forward",
               .blocks = params.blocks,
               .threads = S::threads,
               .smem_bytes = sizeof(Smem<S>),
               .blocks_per_sm = S::tuning.blocks_per_sm,
               .stream = stream},
              params);
}

inline Params params_of(const ForwardParams& problem, const Runs& runs, const RowTable& table, int tuning,
                        unsigned blocks) {
  Params params;
  params.problem = problem;
  const auto splits = static_cast<unsigned>(problem.num_splits);
  params.tiles =
      static_cast<unsigned>(problem.order.q_tiles * problem.order.heads * problem.order.batch) * splits;
  params.blocks = blocks * splits;
  params.pack_shift = std::countr_zero(static_cast<unsigned>(problem.pack));
  params.runs = runs;
  params.table = table;
  set_maps(params, kTunings[tuning], problem.order.batch, problem.order.batch);
  return params;
}

using Start = void (*)(const Params&, void*);

template <class T, int... kTuning>
void start_one_of(std::integer_sequence<int, kTuning...>, int tuning, const Params& params, void* stream) {
  // Few tiles have their keys shared out: the causal kernel takes them without a mask too.
  constexpr Start kFull[] = {&start < T, kTuning,
                             kTunings[kTuning].splits ? Visible::causal : Visible::all > ...};
  constexpr Start kCausal[] = {&start<T, kTuning, Visible::causal>...};
  (params.problem.causal ? kCausal : kFull)[tuning](params, stream);
}

template <class T>
void start_any(const ForwardParams& problem, int tuning, unsigned blocks, void* stream) {
  start_one_of<T>(std::make_integer_sequence<int, kNumTunings>(), tuning,
                  params_of(problem, {}, {}, tuning, blocks), stream);
}

template <class T, int kTuning, Visible kVisible>
constexpr Start start_for() {
  // A table says nothing of packed rows, of which shares of the keys have most.
  if constexpr (kTunings[kTuning].runs && !(kVisible == Visible::rows && kTunings[kTuning].splits))
    return &start<T, kTuning, kVisible>;
  return nullptr;
}

template <class T, Visible kVisible, int... kTuning>
void start_one_with(std::integer_sequence<int, kTuning...>, int tuning, const Params& params, void* stream) {
  constexpr Start kStarts[] = {start_for<T, kTuning, kVisible>()...};
  kStarts[tuning](params, stream);
}

template <class T>
void start_with_runs(const ForwardParams& problem, const Runs& runs, int tuning, unsigned blocks,
                     void* stream) {
  start_one_with<T, Visible::runs>(std::make_integer_sequence<int, kNumTunings>(), tuning,
                                   params_of(problem, runs, {}, tuning, blocks), stream);
}

template <class T>
void start_with_rows(const ForwardParams& problem, const RowTable& table, int tuning, unsigned blocks,
                     void* stream) {
  start_one_with<T, Visible::rows>(std::make_integer_sequence<int, kNumTunings>(), tuning,
                                   params_of(problem, {}, table, tuning, blocks), stream);
}

template <class T, int kTuning>
constexpr Start start_for_lengths() {
  if constexpr (takes_lengths(kTunings[kTuning])) return &start<T, kTuning, Visible::lengths>;
  return nullptr;
}

template <class T, int... kTuning>
void start_one_with_lengths(std::integer_sequence<int, kTuning...>, int tuning, const Params& params,
                            void* stream) {
  constexpr Start kStarts[] = {start_for_lengths<T, kTuning>()...};
  kStarts[tuning](params, stream);
}

template <class T>
void start_with_lengths(const ForwardParams& problem, const SequenceTiles& sequences, const Places& places,
                        int tuning, unsigned blocks, void* stream) {
  Params params = params_of(problem, {}, {}, tuning, blocks);
  params.sequences = sequences;
  set_maps(params, kTunings[tuning], places.q, places.k);
  start_one_with_lengths<T>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T, int kTuning>
constexpr Start start_for_change(Change change) {
  if constexpr (takes_changes(kTunings[kTuning])) {
    switch (change) {
      case Change::sinks:
        return &start<T, kTuning, Visible::runs, Change::sinks>;
      case Change::softcap:
        return &start<T, kTuning, Visible::runs, Change::softcap>;
      case Change::slopes:
        return &start<T, kTuning, Visible::runs, Change::slopes>;
      case Change::scaled:
        return &start<T, kTuning, Visible::runs, Change::scaled>;
      case Change::none:
      case Change::bias:
        break;
    }
  }
  return nullptr;
}

template <class T, int... kTuning>
void start_one_with_change(std::integer_sequence<int, kTuning...>, Change change, int tuning,
                           const Params& params, void* stream) {
  const Start starts[] = {start_for_change<T, kTuning>(change)...};
  starts[tuning](params, stream);
}

template <class T>
void start_with_change(const ForwardParams& problem, const Runs& runs, Change change,
                       const ScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  Params params = params_of(problem, runs, {}, tuning, blocks);
  params.scores = scores;
  start_one_with_change<T>(std::make_integer_sequence<int, kNumTunings>(), change, tuning, params, stream);
}

template <class T, int kTuning>
constexpr Start start_for_bits() {
  if constexpr (takes_bits(kTunings[kTuning])) return &start<T, kTuning, Visible::bits>;
  return nullptr;
}

template <class T, int... kTuning>
void start_one_with_bits(std::integer_sequence<int, kTuning...>, int tuning, const Params& params,
                         void* stream) {
  constexpr Start kStarts[] = {start_for_bits<T, kTuning>()...};
  kStarts[tuning](params, stream);
}

template <class T>
void start_with_bits(const ForwardParams& problem, const PairBits& bits, int tuning, unsigned blocks,
                     void* stream) {
  Params params = params_of(problem, {}, {}, tuning, blocks);
  params.bits = bits;
  start_one_with_bits<T>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

template <class T, int kTuning>
constexpr Start start_for_bias() {
  if constexpr (takes_bias(kTunings[kTuning])) return &start<T, kTuning, Visible::tiles, Change::bias>;
  return nullptr;
}

template <class T, int... kTuning>
void start_one_with_bias(std::integer_sequence<int, kTuning...>, int tuning, const Params& params,
                         void* stream) {
  constexpr Start kStarts[] = {start_for_bias<T, kTuning>()...};
  kStarts[tuning](params, stream);
}

template <class T>
void start_with_bias(const ForwardParams& problem, const Runs& runs, const PairBits& bits,
                     const PairScoreParams& scores, int tuning, unsigned blocks, void* stream) {
  Params params = params_of(problem, runs, {}, tuning, blocks);
  params.bits = bits;
  params.scores = scores;
  params.bias = bias_map(scores.pairs, problem.order.batch, problem.q_heads);
  start_one_with_bias<T>(std::make_integer_sequence<int, kNumTunings>(), tuning, params, stream);
}

void launch_fp16(const ForwardParams& params, int tuning, unsigned blocks, void* stream);
void launch_bf16(const ForwardParams& params, int tuning, unsigned blocks, void* stream);
void launch_runs_fp16(const ForwardParams& params, const Runs& runs, int tuning, unsigned blocks,
                      void* stream);
void launch_runs_bf16(const ForwardParams& params, const Runs& runs, int tuning, unsigned blocks,
                      void* stream);
void launch_rows_fp16(const ForwardParams& params, const RowTable& table, int tuning, unsigned blocks,
                      void* stream);
void launch_rows_bf16(const ForwardParams& params, const RowTable& table, int tuning, unsigned blocks,
                      void* stream);
void launch_lengths_fp16(const ForwardParams& params, const SequenceTiles& sequences, const Places& places,
                         int tuning, unsigned blocks, void* stream);
void launch_lengths_bf16(const ForwardParams& params, const SequenceTiles& sequences, const Places& places,
                         int tuning, unsigned blocks, void* stream);
void launch_bits_fp16(const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                      void* stream);
void launch_bits_bf16(const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                      void* stream);
void launch_bias_fp16(const ForwardParams& params, const Runs& runs, const PairBits& bits,
                      const PairScoreParams& scores, int tuning, unsigned blocks, void* stream);
void launch_bias_bf16(const ForwardParams& params, const Runs& runs, const PairBits& bits,
                      const PairScoreParams& scores, int tuning, unsigned blocks, void* stream);
void launch_scores_fp16(const ForwardParams& params, const Runs& runs, Change change,
                        const ScoreParams& scores, int tuning, unsigned blocks, void* stream);
void launch_scores_bf16(const ForwardParams& params, const Runs& runs, Change change,
                        const ScoreParams& scores, int tuning, unsigned blocks, void* stream);

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

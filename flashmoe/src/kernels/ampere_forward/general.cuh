// SPDX-License-Identifier: MIT
// What the general form of ampere_forward does beside the others: rows that see what a table says, and a few
// first keys beside; sequences of different lengths; scores that change; sinks. What a problem does not have
// costs a branch that all threads take alike, so one kernel does for all of them.
#pragma once

#include <cmath>

#include "kernels/ampere_forward/general.h"
#include "kernels/ampere_forward/work.cuh"
#include "kernels/load_first_keys.h"
#include "primitives/arithmetic.h"
#include "primitives/memory.h"
#include "primitives/registers.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// The block's share: of a batch entry, or of a sequence, whose places take the place of entries.
struct GeneralWork : Work {
  int number;          // of the entry or sequence; kNoSequence: there is nothing to do
  int k_place;         // as `batch` is that of q
  int q_rows, keys;    // of the entry or sequence
  Runs rule;           // by which its rows see, without a table
  int first_position;  // the key that stands where its row 0 does
  int gap, gap_tiles;  // from tile `gap` on, so many tiles that no row sees: between first keys and the rest
  int64_t lse_stride;  // from one `batch` to the next

  __device__ __forceinline__ bool exists() const { return number != kNoSequence; }
  __device__ __forceinline__ int k_batch() const { return k_place; }
  __device__ __forceinline__ int kv_rows(const ForwardParams&) const { return keys; }
  __device__ __forceinline__ int behind_gap(int tile) const { return tile < gap ? tile : tile + gap_tiles; }
};

struct General {
  using WorkOf = GeneralWork;
  static constexpr bool begins_anywhere = true;
  static constexpr bool changes_scores = true;
  static constexpr bool drops_weights = true;
  static constexpr bool has_gaps = true;
  static constexpr bool has_pairs = false;
  static constexpr bool takes_lengths = true;
  const GeneralParams& params;

  __device__ __forceinline__ Run visible(const ForwardParams&, const GeneralWork& work, int position) const {
    if (params.table.given()) return load_row(params.table, work.batch, existing(work, position));
    return work.rule.visible(position, work.q_rows, work.keys);
  }
  // Beside that; only of a table that has them.
  __device__ __forceinline__ Run first_keys(const GeneralWork& work, int position) const {
    const int place = gpu::opaque(work.batch);  // else the address is kept from tile to tile
    return load_first_keys(params.table, place, existing(work, position));
  }
  __device__ __forceinline__ uint32_t kept(const ForwardParams& p, const GeneralWork& work, int row,
                                           int first) const {
    const int position = position_of(p, row);
    const Run seen = visible(p, work, position);
    uint32_t keep = elements_between(seen.begin - first, seen.end - first);
    if (params.table.first_keys != nullptr) {
      const Run beside = first_keys(work, position);
      keep |= elements_between(beside.begin - first, beside.end - first);
    }
    return keep;
  }

 protected:
  static __device__ __forceinline__ int existing(const GeneralWork& work, int position) {
    return position < work.q_rows ? position : work.q_rows - 1;
  }
};

template <class Spec, class Sight>
requires Sight::has_gaps __device__ __forceinline__ auto find_work(const ForwardParams& p, const Sight& sight,
                                                                   int block) {
  const GeneralParams& general = sight.params;
  const TileOrder::Tile tile = p.order.tile(static_cast<unsigned>(block));
  typename Sight::WorkOf work;
  work.head = tile.head * p.pack;
  work.kv_head = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(work.head)));
  if (Sight::takes_lengths && general.sequences.tiles != nullptr) {
    const SequenceTile own = gpu::load_global(general.sequences.tiles + tile.q_tile);
    work.number = own.sequence;
    work.batch = own.q_place;
    work.k_place = own.k_place;
    work.q_rows = own.q_rows;
    work.keys = own.k_rows;
    work.first_row = own.first_row * p.pack;
    work.rule = general.sequences.rule.runs(own.q_rows, own.k_rows);
    work.first_position = general.sequences.rule.first_position(own.q_rows, own.k_rows);
    work.lse_stride = general.sequences.lse_stride;
    if (!work.exists()) return work;
  } else {
    work.number = work.batch = work.k_place = tile.batch;
    work.q_rows = p.q_rows;
    work.keys = p.kv_rows;
    work.first_row = tile.q_tile * Spec::tuning.tile_q;
    work.rule = general.runs;
    work.first_position = general.scores.first_position;
    work.lse_stride = int64_t{p.q_heads} * p.q_rows;
  }
  const int left = work.q_rows * p.pack - work.first_row;
  work.rows = left < Spec::tuning.tile_q ? left : Spec::tuning.tile_q;

  // No end of what rows see ever falls from row to row.
  constexpr int kTileKv = Spec::tuning.tile_kv;
  const int first_position = position_of(p, work.first_row);
  const int last_position = position_of(p, work.first_row + work.rows - 1);
  int first = sight.visible(p, work, first_position).begin / kTileKv;
  int tiles = (sight.visible(p, work, last_position).end + kTileKv - 1) / kTileKv;
  work.gap = work.gap_tiles = 0;
  if (general.table.first_keys != nullptr) {
    // What lies between the first row's is nobody's: later rows of its document have the same first keys, and
    // those of other documents lie behind it.
    const Run beside = sight.first_keys(work, first_position);
    work.gap = (beside.end + kTileKv - 1) / kTileKv;
    work.gap_tiles = first < work.gap ? 0 : first - work.gap;
    first = beside.begin / kTileKv;
    tiles -= work.gap_tiles;
  }
  if constexpr (Sight::has_pairs) sight.template leave_out_hidden<kTileKv>(p, work, first, tiles);
  tiles = tiles < first ? 0 : tiles - first;
  const auto split = static_cast<int>(gpu::block_index_y());
  work.tile_begin = first + p.first_of_split(tiles, split);
  work.tile_end = first + p.first_of_split(tiles, split + 1);
  return work;
}

// Query head of a packed row.
__device__ __forceinline__ int head_of(const ForwardParams& p, const Work& work, int packed_row,
                                       int position) {
  return work.head + packed_row - position * p.pack;
}

// Scores as the softmax sees them, before the mask: a score may change its sign.
template <class Spec>
__device__ __forceinline__ void change(Scores<Spec>& S, const ForwardParams& p, const General& sight,
                                       const GeneralWork& work, int first_key) {
  const ScoreParams& scores = sight.params.scores;
  const float inner = scores.inner, cap = scores.function.cap;
  if (cap > 0) {
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) S[r][n][i] = cap * gpu::tanh(S[r][n][i] * inner);
      }
    }
  } else if (inner != 1) {
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) S[r][n][i] *= inner;
      }
    }
  }
  if (scores.slopes == nullptr) return;
  const int lane = gpu::opaque(gpu::lane_index());  // else the distances are kept from tile to tile
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + lane / 4;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_row + 16 * r + 8 * h;
      const int position = position_of(p, row);
      const float slope =
          1.44269504088896341F * gpu::load_global(scores.slopes + work.number * scores.slopes_batch_stride +
                                                  head_of(p, work, row, position));
      const auto distance = static_cast<float>(first_key + 2 * (lane % 4) - position - work.first_position);
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
          S[r][n][2 * h + i] =
              fmaf(-slope, fabsf(distance + static_cast<float>(8 * n + i)), S[r][n][2 * h + i]);
      }
    }
  }
}

// A sink joins at the end of a row; where several blocks share its keys, in the first one's share.
template <class Spec>
__device__ __forceinline__ void add_sinks(State<Spec>& state, const ForwardParams& p, const General& sight,
                                          const GeneralWork& work) {
  const float* sinks = sight.params.scores.sinks;
  if (sinks == nullptr || gpu::block_index_y() > 0) return;
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + gpu::lane_index() / 4;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_row + 16 * r + 8 * h;
      const float sink = gpu::load_global(sinks + head_of(p, work, row, position_of(p, row)));
      const RowWithSink with_sink(state.m[r][h], state.l[r][h], sink);
      const float factor = with_sink.factor * state.l[r][h];  // O has been divided by l
      state.m[r][h] = with_sink.max;
      state.l[r][h] = with_sink.sum;
#pragma unroll
      for (int d = 0; d < Spec::dim_tiles; ++d) {
        state.O[r][d][2 * h] *= factor;
        state.O[r][d][2 * h + 1] *= factor;
      }
    }
  }
}

// Row of the LSE.
__device__ __forceinline__ int64_t dense_row(const ForwardParams& p, const GeneralWork& work,
                                             int packed_row) {
  const int position = position_of(p, packed_row);
  return work.batch * work.lse_stride + int64_t{head_of(p, work, packed_row, position)} * p.q_rows + position;
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// A tensor with a value for every query row and key, beside all that the general form of ampere_forward does.
// What a bool one shows is in bits that are part of a row's keep words; what another one adds is loaded
// before the scores are computed, and added behind them.
#pragma once

#include "kernels/ampere_forward/general.cuh"
#include "kernels/load_pairs.h"
#include "numeric/score_function.h"
#include "primitives/registers.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

struct PairsWork : GeneralWork {
  Run shown;  // keys that no bit of the block's rows hides
};

struct WithPairs : General {
  using WorkOf = PairsWork;
  static constexpr bool has_pairs = true;
  static constexpr bool takes_lengths = false;
  const GeneralPairs& pairs;

  __device__ __forceinline__ uint32_t kept(const ForwardParams& p, const PairsWork& work, int row,
                                           int first) const {
    const uint32_t keep = General::kept(p, work, row, first);
    const PairBits& bits = pairs.bits;
    if (bits.by_row == nullptr) return keep;
    const int position = position_of(p, row);
    const int64_t line = bits.entry(work.number, head_of(p, work, row, position)) * bits.padded_rows +
                         existing(work, position);
    const PairWords* words = bits.by_row + line * bits.key_blocks() + first / kBitColumns;
    const uint32_t shown = gpu::load_global(words->of_lane + first % 8 / 2);
    return keep & shown >> (first % kBitColumns / 8 * 2);
  }

  // Element of a packed row's first key.
  __device__ __forceinline__ int64_t element_of(const ForwardParams& p, const PairsWork& work,
                                                int row) const {
    const PairParams& tensor = pairs.tensor;
    const int position = position_of(p, row);
    return work.number * tensor.batch_stride + head_of(p, work, row, position) * tensor.head_stride +
           existing(work, position) * tensor.row_stride;
  }

  // Tiles of keys, from `first` to `end`, of which the tensor shows no row of the block anything are left out
  // at both ends.
  template <int kTileKv>
  __device__ __forceinline__ void leave_out_hidden(const ForwardParams& p, PairsWork& work, int& first,
                                                   int& end) const {
    work.shown = {0, kNobody};
    if (!pairs.bits.given()) return;
    const TileRuns seen = hull(p, work);
    if (pairs.bits.by_row != nullptr) work.shown = {seen.max_begin, seen.min_end};
    if (work.gap_tiles > 0) return;  // tiles are not numbered by their keys
    const int shown_first = seen.min_begin / kTileKv, shown_end = (seen.max_end + kTileKv - 1) / kTileKv;
    first = first < shown_first ? shown_first : first;
    end = end < shown_end ? end : shown_end;
  }

 private:
  // What the tensor shows the rows of a block, over all their strips of rows and all their heads.
  __device__ __forceinline__ TileRuns hull(const ForwardParams& p, const PairsWork& work) const {
    const PairBits& bits = pairs.bits;
    const int heads = bits.head_entries == 0 ? 1 : p.pack;
    const int first = position_of(p, work.first_row) / kTableTile;
    const int last = position_of(p, work.first_row + work.rows - 1) / kTableTile;
    TileRuns all{.min_begin = kNobody, .max_begin = 0, .min_end = kNobody, .max_end = 0};
#pragma unroll 1
    for (int head = work.head; head < work.head + heads; ++head) {
      const TileRuns* strips = bits.tiles + bits.entry(work.number, head) * (bits.padded_rows / kTableTile);
#pragma unroll 1
      for (int strip = first; strip <= last; ++strip) {
        const TileRuns one = gpu::load_global(strips + strip);
        if (one.min_begin < all.min_begin) all.min_begin = one.min_begin;
        if (one.max_begin > all.max_begin) all.max_begin = one.max_begin;
        if (one.min_end < all.min_end) all.min_end = one.min_end;
        if (one.max_end > all.max_end) all.max_end = one.max_end;
      }
    }
    return all;
  }
};

// What a lane has loaded of the tensor for a tile of keys: of both rows of each row tile.
template <class Spec>
using Added = TwoValues[Spec::row_tiles][2][Spec::key_tiles];

template <class Spec>
__device__ __forceinline__ void load_added(Added<Spec>& added, const ForwardParams& p, const WithPairs& sight,
                                           const PairsWork& work, int first_key) {
  const int lane = gpu::opaque(gpu::lane_index());  // else rows and heads are kept from tile to tile
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + lane / 4;
  const int first = first_key + 2 * (lane % 4);
  const PairParams& tensor = sight.pairs.tensor;
  const auto for_each_row = [&](const auto& load) {
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        load(added[r][h], tensor, sight.element_of(p, work, first_row + 16 * r + 8 * h), first);
    }
  };
  with_element(tensor.type, [&]<class E>(E) {
    if (tensor.by_two) {
      for_each_row(load_by_two<E, Spec::key_tiles>);
    } else {
      for_each_row(load_one_by_one<E, Spec::key_tiles>);
    }
  });
}

template <class Spec>
__device__ __forceinline__ void add(Scores<Spec>& S, const WithPairs& sight, const Added<Spec>& added) {
  with_element(sight.pairs.tensor.type, [&]<class E>(E) {
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) S[r][n][i] += added_in_log2(value_of<E>(added[r][i / 2][n], i % 2));
      }
    }
  });
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

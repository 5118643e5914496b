// SPDX-License-Identifier: MIT
// ampere_forward: attention by tensor cores through mma.sync, for sm_80 and everything newer.
// After FlashAttention-2 (Dao, 2023): a block keeps its query rows, walks over tiles of keys, and rescales
// what it has when the running maximum grows. S, P, O, m, l are the paper's letters. Bound: tensor cores at
// large head_dim, exponentials and shared memory at small. Roles: all warps alike. A warp has its own rows of
// Q and all keys, so P stays in its registers; the block shares K and V tiles in a ring of stages that
// cp.async fills one or more tiles ahead.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/ampere_forward/dropout.cuh"
#include "kernels/ampere_forward/general.cuh"
#include "kernels/ampere_forward/pairs.cuh"
#include "kernels/ampere_forward/smem.h"
#include "kernels/ampere_forward/store.cuh"
#include "kernels/ampere_forward/tile_copy.cuh"
#include "kernels/ampere_forward/work.cuh"
#include "kernels/forward_params.h"
#include "kernels/large_scores.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// Shared address of this lane's row for ldmatrix, at column 0 of rows [row, row + 16) of a tile. Rows that it
// names are swizzled alike: they agree in what swizzle() looks at, namely row % 8 = lane % 8. That makes the
// address of a later column a XOR, and that of a later row a sum.
template <class Spec>
__device__ __forceinline__ uint32_t lane_address(const gpu::Chunk* tile, int row_in_16, int half) {
  return gpu::shared_address(tile) + 16 * chunk_at<Spec>(row_in_16, half);
}

template <class Spec>
__device__ __forceinline__ uint32_t at_columns(uint32_t address, int column_of_16) {
  constexpr int kWidth = Spec::swizzle_width;
  const int chunk = 2 * column_of_16;
  return (address ^ (16 * (chunk % kWidth))) + 16 * (chunk / kWidth * kWidth);
}

template <class Spec>
using QFragments = uint32_t[Spec::row_tiles][Spec::head_dim / 16][4];

template <class Spec>
__device__ __forceinline__ void start(State<Spec>& state) {
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      state.m[r][h] = -INFINITY;
      state.l[r][h] = 0;
    }
#pragma unroll
    for (int d = 0; d < Spec::dim_tiles; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) state.O[r][d][i] = 0;
    }
  }
}

// S = Q K^T for this warp's rows and one tile of keys.
template <class Spec>
__device__ __forceinline__ void q_times_k(Scores<Spec>& S, const QFragments<Spec>& q, uint32_t q_address,
                                          uint32_t k_address) {
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) S[r][n][i] = 0;
    }
  }
#pragma unroll
  for (int d = 0; d < Spec::head_dim / 16; ++d) {
    uint32_t a[Spec::row_tiles][4];
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
      if constexpr (Spec::tuning.q_in_registers) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[r][i] = q[r][d][i];
      } else {
        gpu::ldmatrix_x4(a[r], at_columns<Spec>(q_address, d) + 16 * r * Spec::row_bytes);
      }
    }
#pragma unroll
    for (int n = 0; n < Spec::key_tiles; n += 2) {
      uint32_t b[4];
      gpu::ldmatrix_x4(b, at_columns<Spec>(k_address, d) + 8 * n * Spec::row_bytes);
#pragma unroll
      for (int r = 0; r < Spec::row_tiles; ++r) {
        gpu::mma_m16n8k16<typename Spec::Element>(S[r][n], a[r], b[0], b[1]);
        gpu::mma_m16n8k16<typename Spec::Element>(S[r][n + 1], a[r], b[2], b[3]);
      }
    }
  }
}

// Scores of keys that a row does not see become -inf. Few tiles need it, so what a row sees is worked out
// anew.
template <class Spec>
__device__ __forceinline__ void mask(Scores<Spec>& S, const ForwardParams& p, const FromFirstKey&,
                                     const Work& work, int first_key) {
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + gpu::lane_index() / 4;
  const int first = first_key + 2 * (gpu::lane_index() % 4);
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int visible = p.visible_keys(position_of(p, first_row + 16 * r + 8 * h)) - first;
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
        if (8 * n >= visible) S[r][n][2 * h] = -INFINITY;
        if (8 * n + 1 >= visible) S[r][n][2 * h + 1] = -INFINITY;
      }
    }
  }
}

template <class Spec, class Sight, class WorkOf>
requires Sight::begins_anywhere __device__ __forceinline__ void mask(Scores<Spec>& S, const ForwardParams& p,
                                                                     const Sight& sight, const WorkOf& work,
                                                                     int first_key) {
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + gpu::lane_index() / 4;
  const int first = first_key + 2 * (gpu::lane_index() % 4);
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint32_t keep = sight.kept(p, work, first_row + 16 * r + 8 * h, first);
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if ((keep >> (2 * n + i) & 1) == 0) S[r][n][2 * h + i] = -INFINITY;
        }
      }
    }
  }
}

// The largest score of this lane's row h of row tile r, over the four lanes that share it.
template <class Spec>
__device__ __forceinline__ float row_maximum(const Scores<Spec>& S, int r, int h) {
  float x = fmaxf(S[r][0][2 * h], S[r][0][2 * h + 1]);
#pragma unroll
  for (int n = 1; n < Spec::key_tiles; ++n) x = fmaxf(x, fmaxf(S[r][n][2 * h], S[r][n][2 * h + 1]));
  x = fmaxf(x, gpu::shuffle_xor(x, 1));
  return fmaxf(x, gpu::shuffle_xor(x, 2));
}

// Brings m of a row to `m`, and its l and O with it.
template <class Spec>
__device__ __forceinline__ void raise(State<Spec>& state, int r, int h, float m) {
  const float alpha = gpu::ex2(state.m[r][h] - (m == -INFINITY ? 0.0F : m));
  state.m[r][h] = m;
  state.l[r][h] *= alpha;
#pragma unroll
  for (int d = 0; d < Spec::dim_tiles; ++d) {
    state.O[r][d][2 * h] *= alpha;
    state.O[r][d][2 * h + 1] *= alpha;
  }
}

// P = exp2(scale S - m) of a row, and its sum.
template <class Spec>
__device__ __forceinline__ void weigh(State<Spec>& state, Scores<Spec>& S, int r, int h, float scale_log2e) {
  const float m = state.m[r][h];
  const float base = fused_base(m);
  float sum = 0;
#pragma unroll
  for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) {
      S[r][n][i] = gpu::ex2(fmaf(S[r][n][i], scale_log2e, -base));
      sum += S[r][n][i];
    }
  }
  state.l[r][h] += sum;
}

// Weights may be as large as 2^kSlack before a lazy form raises m. They stay exact to their own rounding, and
// most tiles rescale nothing.
inline constexpr float kSlack = 8;

template <class Spec>
__device__ __forceinline__ bool has_large(const float (&m)[Spec::row_tiles][2]) {
  float size = 0;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) size = fmaxf(size, fmaxf(fabsf(m[r][0]), fabsf(m[r][1])));
  return is_large(size);
}

// Makes the scores of rows whose maximum is large ready for weigh.
template <class Spec>
__device__ __forceinline__ void subtract_large_maxima(Scores<Spec>& S, const float (&m)[Spec::row_tiles][2],
                                                      float scale_log2e) {
  if (!gpu::any_lane(has_large<Spec>(m))) return;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const SubtractFirst subtract_first(scale_log2e, m[r][h]);
#pragma unroll
      for (int n = 0; n < Spec::key_tiles; ++n) {
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) S[r][n][i] = subtract_first(S[r][n][i]);
      }
    }
  }
}

// Raises m only once some row of the warp has grown well past it, or is large: one branch for all rows.
template <class Spec>
__device__ __forceinline__ void raise_lazily(State<Spec>& state, Scores<Spec>& S, float scale_log2e) {
  float largest[Spec::row_tiles][2];
  bool grew = false;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      largest[r][h] = row_maximum<Spec>(S, r, h) * scale_log2e;
      grew |= largest[r][h] > state.m[r][h] + kSlack;
    }
  }
  if (!gpu::any_lane(grew || has_large<Spec>(state.m))) return;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) raise<Spec>(state, r, h, fmaxf(state.m[r][h], largest[r][h]));
  }
  subtract_large_maxima<Spec>(S, state.m, scale_log2e);
}

// Turns S into P, and brings m, l and O up to date.
template <class Spec>
__device__ __forceinline__ void absorb(State<Spec>& state, Scores<Spec>& S, float scale_log2e) {
  float m[Spec::row_tiles][2];
  if constexpr (Spec::tuning.lazy) {
    raise_lazily<Spec>(state, S, scale_log2e);
  } else {
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int h = 0; h < 2; ++h) m[r][h] = fmaxf(state.m[r][h], row_maximum<Spec>(S, r, h) * scale_log2e);
    }
    subtract_large_maxima<Spec>(S, m, scale_log2e);
  }
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (!Spec::tuning.lazy) raise<Spec>(state, r, h, m[r][h]);
      weigh<Spec>(state, S, r, h, scale_log2e);
    }
  }
}

// O += P V. The accumulators of S are, packed in pairs, the A fragments of P.
template <class Spec>
__device__ __forceinline__ void p_times_v(State<Spec>& state, const Scores<Spec>& P, uint32_t v_address) {
  using T = typename Spec::Element;
#pragma unroll
  for (int n = 0; n < Spec::key_tiles; n += 2) {
    uint32_t a[Spec::row_tiles][4];
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
      a[r][0] = gpu::pack<T>(P[r][n][0], P[r][n][1]);
      a[r][1] = gpu::pack<T>(P[r][n][2], P[r][n][3]);
      a[r][2] = gpu::pack<T>(P[r][n + 1][0], P[r][n + 1][1]);
      a[r][3] = gpu::pack<T>(P[r][n + 1][2], P[r][n + 1][3]);
    }
#pragma unroll
    for (int d = 0; d < Spec::dim_tiles; d += 2) {
      uint32_t b[4];
      gpu::ldmatrix_x4_trans(b, at_columns<Spec>(v_address, d / 2) + 8 * n * Spec::row_bytes);
#pragma unroll
      for (int r = 0; r < Spec::row_tiles; ++r) {
        gpu::mma_m16n8k16<T>(state.O[r][d], a[r], b[0], b[1]);
        gpu::mma_m16n8k16<T>(state.O[r][d + 1], a[r], b[2], b[3]);
      }
    }
  }
}

template <class Spec, class Sight>
__device__ __forceinline__ void attend(const ForwardParams& p, const Sight& sight) {
  using T = typename Spec::Element;
  constexpr int kStages = Spec::tuning.stages;
  constexpr int kTileKv = Spec::tuning.tile_kv;
  auto& smem = gpu::shared<Smem<Spec>>();
  const auto work = find_work<Spec>(p, sight, static_cast<int>(gpu::block_index()));
  if (!work.exists()) return;
  const int lane = gpu::lane_index();
  const T* q = static_cast<const T*>(p.q.data) + work.batch * p.q.batch_stride + work.head * p.q.head_stride;
  const T* k =
      static_cast<const T*>(p.k.data) + work.k_batch() * p.k.batch_stride + work.kv_head * p.k.head_stride;
  const T* v =
      static_cast<const T*>(p.v.data) + work.k_batch() * p.v.batch_stride + work.kv_head * p.v.head_stride;

  // Where a head of K or V begins, for forms that have no registers to keep it in.
  [[maybe_unused]] const auto head_of_kv = [&](const View& view) {
    const auto head = static_cast<uint32_t>(gpu::opaque(work.head));
    return static_cast<const T*>(view.data) + work.k_batch() * view.batch_stride +
           static_cast<int>(p.by_group.divide(head)) * view.head_stride;
  };
  const auto load_k = [&](int tile, int stage) {
    if constexpr (!Spec::keeps_addresses) k = head_of_kv(p.k);
    if constexpr (Sight::has_gaps) tile = work.behind_gap(tile);
    const T* rows = k + int64_t{tile} * kTileKv * p.k.row_stride;
    load_tile<Spec, kTileKv>(smem.k[stage], work.kv_rows(p) - tile * kTileKv, p.head_dim,
                             [&](int row) { return rows + row * p.k.row_stride; });
  };
  const auto load_v = [&](int tile, int stage) {
    if constexpr (!Spec::keeps_addresses) v = head_of_kv(p.v);
    if constexpr (Sight::has_gaps) tile = work.behind_gap(tile);
    const T* rows = v + int64_t{tile} * kTileKv * p.v.row_stride;
    load_tile<Spec, kTileKv>(smem.v[stage], work.kv_rows(p) - tile * kTileKv, p.head_dim,
                             [&](int row) { return rows + row * p.v.row_stride; });
  };

  // Copies in groups: Q with the first K, the first V, then K with V of each later tile. Groups may be empty,
  // so that their number is always known.
  load_tile<Spec, Spec::tuning.tile_q>(smem.q, work.rows, p.head_dim, [&](int row) {
    return q + packed_offset(p.q, p, work.first_row + row);
  });
  if (work.tile_begin < work.tile_end) load_k(work.tile_begin, 0);
  gpu::cp_async_commit();
  if (work.tile_begin < work.tile_end) load_v(work.tile_begin, 0);
  gpu::cp_async_commit();
  for (int stage = 1; stage < kStages - 1; ++stage) {
    if (work.tile_begin + stage < work.tile_end) {
      load_k(work.tile_begin + stage, stage);
      load_v(work.tile_begin + stage, stage);
    }
    gpu::cp_async_commit();
  }

  State<Spec> state;
  start<Spec>(state);
  const uint32_t q_address =
      lane_address<Spec>(smem.q, gpu::warp_index() * Spec::rows_per_warp + lane % 16, lane / 16);
  const uint32_t k_address = lane_address<Spec>(smem.k[0], lane % 8 + lane / 16 * 8, lane / 8 % 2);
  const uint32_t v_address = lane_address<Spec>(smem.v[0], lane % 16, lane / 16);
  QFragments<Spec> q_fragments;
  if constexpr (Spec::tuning.q_in_registers) {
    gpu::cp_async_wait<kStages - 1>();
    gpu::sync_block();
#pragma unroll
    for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
      for (int d = 0; d < Spec::head_dim / 16; ++d) {
        gpu::ldmatrix_x4(q_fragments[r][d], at_columns<Spec>(q_address, d) + 16 * r * Spec::row_bytes);
      }
    }
  }

  // Rows of a tile see keys in the order of rows: from this one on, tiles hold keys that the first row does
  // not see ...
  int first_masked = sight.visible(p, work, position_of(p, work.first_row)).end / kTileKv;
  // ... and before this one keys that the last row does not.
  int first_full = 0;
  if constexpr (Sight::begins_anywhere) {
    const int hidden = sight.visible(p, work, position_of(p, work.first_row + work.rows - 1)).begin;
    first_full = (hidden + kTileKv - 1) / kTileKv;
  }
  if constexpr (Sight::has_pairs) {
    const int begin = (work.shown.begin + kTileKv - 1) / kTileKv, end = work.shown.end / kTileKv;
    first_full = first_full < begin ? begin : first_full;
    first_masked = first_masked < end ? first_masked : end;
  }
  const auto needs_mask = [&](int tile) {
    return tile >= first_masked || (Sight::begins_anywhere && tile < first_full);
  };
  int stage = 0;  // of this tile
  const auto step = [&](int tile, auto first) {
    // The first K came with Q: who has read Q into registers has waited for both.
    if (!first || !Spec::tuning.q_in_registers) {
      if (first) {
        gpu::cp_async_wait<kStages - 1>();
      } else {
        gpu::cp_async_wait<kStages - 2>();
      }
      gpu::sync_block();  // this tile is here for all, and all are done with the one before
    }
    const int free_stage = stage == 0 ? kStages - 1 : stage - 1;
    if (tile + kStages - 1 < work.tile_end) {
      load_k(tile + kStages - 1, free_stage);
      load_v(tile + kStages - 1, free_stage);
    }
    gpu::cp_async_commit();

    if constexpr (Sight::has_gaps) tile = work.behind_gap(tile);
    const uint32_t stage_offset = static_cast<uint32_t>(stage) * sizeof(smem.k[0]);
    [[maybe_unused]] Drawn<Spec> drawn;
    if constexpr (Sight::drops_weights) draw<Spec>(drawn, p, sight, work, tile * kTileKv);
    [[maybe_unused]] Added<Spec> added;
    if constexpr (Sight::has_pairs) load_added<Spec>(added, p, sight, work, tile * kTileKv);
    Scores<Spec> S;
    q_times_k<Spec>(S, q_fragments, q_address, k_address + stage_offset);
    if constexpr (Sight::changes_scores) change<Spec>(S, p, sight, work, tile * kTileKv);
    if constexpr (Sight::has_pairs) add<Spec>(S, sight, added);
    if (needs_mask(tile)) mask<Spec>(S, p, sight, work, tile * kTileKv);
    absorb<Spec>(state, S, Sight::has_pairs ? 1.0F : p.scale_log2e);  // a tensor is added behind the scale
    if constexpr (Sight::drops_weights) drop_weights<Spec>(S, sight, drawn);
    if (first) {  // its V came by itself, so that nothing before had to wait for it
      gpu::cp_async_wait<kStages - 1>();
      gpu::sync_block();
    }
    p_times_v<Spec>(state, S, v_address + stage_offset);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  };
  if constexpr (Spec::tuning.lazy) {
#pragma unroll 1
    for (int tile = work.tile_begin; tile < work.tile_end; ++tile) step(tile, tile == work.tile_begin);
  } else {
    // The first tile is a step of its own: a condition would keep the compiler from mixing softmax and P V,
    // which a lazy form's branches do anyway.
    if (work.tile_begin < work.tile_end) step(work.tile_begin, std::true_type());
#pragma unroll 1
    for (int tile = work.tile_begin + 1; tile < work.tile_end; ++tile) step(tile, std::false_type());
  }
  gpu::cp_async_wait<0>();
  // O will take the place of Q. Every barrier of the loop ordered all loads of Q before it; without one, this
  // does.
  if (work.tile_begin == work.tile_end) gpu::sync_block();

  normalise<Spec>(state);
  if constexpr (Sight::drops_weights) raise_kept<Spec>(state, sight);
  // Worked out anew rather than kept in registers all the way.
  const auto done = find_work<Spec>(p, sight, gpu::opaque(static_cast<int>(gpu::block_index())));
  if constexpr (Sight::changes_scores) add_sinks<Spec>(state, p, sight, done);
  if (p.num_splits > 1) {
    store_partial<Spec>(p, done, state);
  } else {
    store_output<Spec>(p, done, state, smem.q);
  }
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, 1) ampere_forward(const __grid_constant__ ForwardParams p) {
  attend<Spec>(p, FromFirstKey());
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, 1)
    ampere_forward_runs(const __grid_constant__ ForwardParams p, const __grid_constant__ Runs runs) {
  attend<Spec>(p, FromAnyKey{runs});
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, 1)
    ampere_forward_general(const __grid_constant__ ForwardParams p,
                           const __grid_constant__ GeneralParams general) {
  attend<Spec>(p, General{general});
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, 1)
    ampere_forward_pairs(const __grid_constant__ ForwardParams p,
                         const __grid_constant__ GeneralParams general,
                         const __grid_constant__ GeneralPairs pairs) {
  attend<Spec>(p, WithPairs{{general}, pairs});
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

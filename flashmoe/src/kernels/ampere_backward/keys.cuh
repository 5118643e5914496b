// SPDX-License-Identifier: MIT
// What a warp does with its keys, piece by piece; the order of the pieces is the schedule, in kernel.cuh.
// Scores are transposed: rows of S, P, dP and dS are keys, columns are queries. So P and dS leave the tensor
// cores as the A operands of P^T dO and dS^T Q.
#pragma once

#include <climits>
#include <cmath>

#include "kernels/ampere_backward/general_work.cuh"
#include "kernels/ampere_backward/smem.h"
#include "kernels/ampere_backward/tile.cuh"
#include "kernels/ampere_backward/work.cuh"
#include "kernels/head_scores.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/global_counter.h"
#include "primitives/registers.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// Lane l has keys l / 4 and + 8 of every 16, and of every 8 queries the pair 2 (l % 4) and the next: element
// i of an accumulator is of key i / 2 and query i % 2 of them.
template <class Spec>
struct Keys {
  using T = typename Spec::Element;
  using Rows = Tile<Spec::head_dim>;     // of Q, dO, K and V
  using ScoreTile = Tile<Spec::tile_q>;  // of P and dS
  static constexpr int kKeyTiles = Spec::key_tiles;
  static constexpr int kDimSteps = Spec::head_dim / 16;
  static constexpr int kChunkSteps = Spec::chunk_tiles / 2;

  using Scores = float[kKeyTiles][Spec::chunk_tiles][4];
  using PackedScores = uint32_t[kKeyTiles][kChunkSteps][4];  // A operands
  using Gradient = float[kKeyTiles][Spec::column_tiles][4];

  const typename Spec::Params& p;
  Smem<Spec>& smem;
  const WorkOf<Spec>& work;
  int own_key, own_query, own_column;
  int stage = 0;

  Gradient dK, dV;

  __device__ __forceinline__ Keys(const typename Spec::Params& params, Smem<Spec>& shared,
                                  const WorkOf<Spec>& own)
      : p(params), smem(shared), work(own) {
    const int warp = gpu::warp_index();
    own_key = warp % Spec::tuning.key_warps * Spec::own_keys;
    const int of_queries = Spec::shares_scores ? warp / Spec::tuning.key_warps : 0;
    own_query = of_queries * Spec::own_queries;
    own_column = of_queries * Spec::own_columns;
#pragma unroll
    for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
      for (int c = 0; c < Spec::column_tiles; ++c) {
#pragma unroll
        for (int i = 0; i < 4; ++i) dK[r][c][i] = dV[r][c][i] = 0;
      }
    }
  }

  // ---- Loads ----

  __device__ __forceinline__ void load_keys() {
    load_rows<Spec::tile_kv, Spec::head_dim, Spec::threads, T>(smem.k, p.k, work.k_entry(), work.kv_head,
                                                               work.first_key, work.kv_rows(p), p.head_dim);
    load_rows<Spec::tile_kv, Spec::head_dim, Spec::threads, T>(smem.v, p.v, work.k_entry(), work.kv_head,
                                                               work.first_key, work.kv_rows(p), p.head_dim);
  }

  // Q and dO of a step, and their rows' statistics.
  __device__ __forceinline__ void load_queries(const Step& step, int to_stage) {
    const int row = step.q_tile * Spec::tile_q;
    load_rows<Spec::tile_q, Spec::head_dim, Spec::threads, T>(smem.q[to_stage], p.q, work.q_entry(),
                                                              step.head, row, work.q_rows(p), p.head_dim);
    load_rows<Spec::tile_q, Spec::head_dim, Spec::threads, T>(smem.dout[to_stage], p.dout, work.q_entry(),
                                                              step.head, row, work.q_rows(p), p.head_dim);
    constexpr int kPieces = Spec::tile_q / 4;  // of 16 bytes
    const int thread = gpu::thread_index();
    if (thread < 2 * kPieces) {
      const bool first = thread < kPieces;
      const int at = 4 * (thread % kPieces);
      const float* from = (first ? p.lse_log2 : p.delta) + work.padded_row(p, step) + at;
      float* to = (first ? smem.lse_log2 : smem.delta)[to_stage] + at;
      gpu::cp_async_16(gpu::shared_address(to), from, true);
    }
  }

  // ---- Matrix products ----

  // S = K Q^T, and dP = V dO^T, of this warp's keys and a chunk of queries.
  __device__ __forceinline__ void find_scores(Scores& S, int chunk) const {
    over_head_dim(S, smem.k, smem.q[stage], chunk);
  }
  __device__ __forceinline__ void find_dp(Scores& dP, int chunk) const {
    over_head_dim(dP, smem.v, smem.dout[stage], chunk);
  }

  __device__ __forceinline__ void over_head_dim(Scores& product, const gpu::Chunk* keys,
                                                const gpu::Chunk* queries, int chunk) const {
#pragma unroll
    for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
      for (int n = 0; n < Spec::chunk_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) product[r][n][i] = 0;
      }
    }
    const uint32_t from_keys = Rows::down(own_key, 0);
    const uint32_t from_queries = Rows::across(own_query, 0);
    const uint32_t first = gpu::shared_address(queries) + chunk * Spec::tuning.chunk_q * Rows::row_bytes;
#pragma unroll
    for (int d = 0; d < kDimSteps; ++d) {
      uint32_t a[kKeyTiles][4];
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
        gpu::ldmatrix_x4(
            a[r], gpu::shared_address(keys) + Rows::at_columns(from_keys, d) + 16 * r * Rows::row_bytes);
      }
#pragma unroll
      for (int n = 0; n < Spec::chunk_tiles; n += 2) {
        uint32_t b[4];
        gpu::ldmatrix_x4(b, first + Rows::at_columns(from_queries, d) + 8 * n * Rows::row_bytes);
#pragma unroll
        for (int r = 0; r < kKeyTiles; ++r) {
          gpu::mma_m16n8k16<T>(product[r][n], a[r], b[0], b[1]);
          gpu::mma_m16n8k16<T>(product[r][n + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  // dV += P^T dO, or dK += dS^T Q (times the scale, at the end): one step over 16 queries,
  // which begin at the shared address `rows`.
  __device__ __forceinline__ void over_queries(Gradient& sums, const uint32_t (&scores)[kKeyTiles][4],
                                               uint32_t rows) const {
    const uint32_t columns = Rows::down(0, own_column);
#pragma unroll
    for (int c = 0; c < Spec::column_tiles; c += 2) {
      uint32_t b[4];
      gpu::ldmatrix_x4_trans(b, rows + Rows::at_columns(columns, c / 2));
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
        gpu::mma_m16n8k16<T>(sums[r][c], scores[r], b[0], b[1]);
        gpu::mma_m16n8k16<T>(sums[r][c + 1], scores[r], b[2], b[3]);
      }
    }
  }

  // The same over a chunk whose scores are in registers.
  __device__ __forceinline__ void over_chunk(Gradient& sums, const PackedScores& scores,
                                             const gpu::Chunk* queries, int chunk) const {
    const uint32_t rows = gpu::shared_address(queries) + chunk * Spec::tuning.chunk_q * Rows::row_bytes;
#pragma unroll
    for (int k = 0; k < kChunkSteps; ++k) {
      uint32_t a[kKeyTiles][4];
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[r][i] = scores[r][k][i];
      }
      over_queries(sums, a, rows + 16 * k * Rows::row_bytes);
    }
  }

  // The same over all queries of the tile, whose scores are in shared memory.
  __device__ __forceinline__ void over_tile(Gradient& sums, const gpu::Chunk* scores,
                                            const gpu::Chunk* queries) const {
    const uint32_t from_scores = ScoreTile::down(own_key, 0);
    const uint32_t rows = gpu::shared_address(queries);
#pragma unroll
    for (int k = 0; k < Spec::tile_q / 16; ++k) {
      uint32_t a[kKeyTiles][4];
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
        gpu::ldmatrix_x4(a[r], gpu::shared_address(scores) + ScoreTile::at_columns(from_scores, k) +
                                   16 * r * ScoreTile::row_bytes);
      }
      over_queries(sums, a, rows + 16 * k * Rows::row_bytes);
    }
  }

  // ---- Scores ----

  // P = exp2(scale S - LSE) in the place of S; 0 where a query does not see a key, or the key does not exist.
  template <bool kMasked>
  __device__ __forceinline__ void weigh(Scores& S, int q_tile, int chunk) const {
    const int first_query = own_query + chunk * Spec::tuning.chunk_q;
#pragma unroll
    for (int n = 0; n < Spec::chunk_tiles; ++n) {
      const Pair lse = statistics(smem.lse_log2[stage], first_query + 8 * n);
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          S[r][n][i] = gpu::ex2(fmaf(S[r][n][i], p.scale_log2e, i % 2 == 0 ? -lse.x : -lse.y));
        }
      }
    }
    if constexpr (kMasked) {
      const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int key = work.first_key + own_key + 16 * r + 8 * h + lane / 4;
          // Of this lane's columns, counted from its first.
          const int unseen =
              key >= p.kv_rows ? INT_MAX
                               : key - p.causal_shift - q_tile * Spec::tile_q - first_query - 2 * (lane % 4);
#pragma unroll
          for (int n = 0; n < Spec::chunk_tiles; ++n) {
            if (8 * n < unseen) S[r][n][2 * h] = 0;
            if (8 * n + 1 < unseen) S[r][n][2 * h + 1] = 0;
          }
          if constexpr (Spec::runs) {  // later queries may not see it any more
            const int seen = key - p.runs.begin + 1 - q_tile * Spec::tile_q - first_query - 2 * (lane % 4);
#pragma unroll
            for (int n = 0; n < Spec::chunk_tiles; ++n) {
              if (8 * n >= seen) S[r][n][2 * h] = 0;
              if (8 * n + 1 >= seen) S[r][n][2 * h + 1] = 0;
            }
          }
        }
      }
    }
  }

  // The general form: the same, and by what dP - delta is multiplied, which is P unless there is a cap.
  // added: what a tensor has for the pairs, if there is one.
  template <class Added>
  __device__ __forceinline__ void weigh_changed(Scores& S, Scores& factors,
                                                [[maybe_unused]] const Added& added, const Step& step,
                                                int chunk) const {
    const ScoreParams& scores = p.scores;
    const int first_query = own_query + chunk * Spec::tuning.chunk_q;
    const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
    const int first_row = step.q_tile * Spec::tile_q + first_query + 2 * (lane % 4);  // of the lane's
    const int key = work.first_key + own_key + lane / 4;                              // the lane's first
    float scale = p.scale_log2e;
    if (scores.function.cap > 0) {  // S becomes t = tanh(inner S), and the scale of what follows is the cap
      scale = scores.function.cap;
      each_score([&](int r, int n, int i) { S[r][n][i] = gpu::tanh(S[r][n][i] * scores.inner); });
      each_score([&](int r, int n, int i) { factors[r][n][i] = fmaf(-S[r][n][i], S[r][n][i], 1.0F); });
    } else {
      each_score([&](int r, int n, int i) { factors[r][n][i] = 1.0F; });
    }
#pragma unroll
    for (int n = 0; n < Spec::chunk_tiles; ++n) {
      const Pair lse = statistics(smem.lse_log2[stage], first_query + 8 * n);
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) S[r][n][i] = fmaf(S[r][n][i], scale, i % 2 == 0 ? -lse.x : -lse.y);
      }
    }
    if (scores.slopes != nullptr) {
      const float slope = HeadScores(scores, work.entry(), step.head).slope * kLog2E;
      const auto distance = static_cast<float>(first_row + work.first_position() - key);
      each_score([&](int r, int n, int i) {
        const auto further = static_cast<float>(8 * n + i % 2 - 16 * r - 8 * (i / 2));
        S[r][n][i] = fmaf(-slope, fabsf(distance + further), S[r][n][i]);
      });
    }
    if constexpr (Spec::pairs) added.add_to(S, p.pairs.type);
    each_score([&](int r, int n, int i) { S[r][n][i] = gpu::ex2(S[r][n][i]); });
    if (work.is_masked(p, step.q_tile)) {
#pragma unroll
      for (int column = 0; column < 2 * Spec::chunk_tiles; ++column) {
        const int n = column / 2;
        const SeenKeys seen = work.seen(p, first_row + 8 * n + column % 2);
#pragma unroll
        for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            if (!seen.has(key + 16 * r + 8 * h)) S[r][n][2 * h + column % 2] = 0;
          }
        }
      }
    }
    if (derives_behind()) each_score([&](int r, int n, int i) { factors[r][n][i] = 1.0F; });
    each_score([&](int r, int n, int i) { factors[r][n][i] *= S[r][n][i]; });
  }

  // Whether dS goes somewhere before it is multiplied by the cap's derivative.
  __device__ __forceinline__ bool derives_behind() const {
    if constexpr (Spec::pairs) return p.dpairs.data != nullptr && p.scores.function.cap > 0;
    return false;
  }
  static constexpr float kLog2E = 1.44269504088896341F;

  template <class Visit>
  static __device__ __forceinline__ void each_score(const Visit& visit) {
#pragma unroll
    for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
      for (int n = 0; n < Spec::chunk_tiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) visit(r, n, i);
      }
    }
  }

  // dS = P (dP - delta) in the place of dP.
  __device__ __forceinline__ void differentiate(Scores& dP, const Scores& P, int chunk) const {
#pragma unroll
    for (int n = 0; n < Spec::chunk_tiles; ++n) {
      const Pair delta = statistics(smem.delta[stage], own_query + chunk * Spec::tuning.chunk_q + 8 * n);
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          dP[r][n][i] = P[r][n][i] * (dP[r][n][i] - (i % 2 == 0 ? delta.x : delta.y));
        }
      }
    }
  }

  struct alignas(8) Pair {
    float x, y;
  };
  // Of the lane's two queries in a group of 8.
  __device__ __forceinline__ Pair statistics(const float (&rows)[Spec::tile_q], int first) const {
    return *reinterpret_cast<const Pair*>(&rows[first + 2 * (gpu::lane_index() % 4)]);
  }

  static __device__ __forceinline__ void pack_scores(PackedScores& packed, const Scores& scores) {
#pragma unroll
    for (int r = 0; r < kKeyTiles; ++r) {
#pragma unroll
      for (int k = 0; k < kChunkSteps; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float(&four)[4] = scores[r][2 * k + i / 2];
          packed[r][k][i] = gpu::pack<T>(four[2 * (i % 2)], four[2 * (i % 2) + 1]);
        }
      }
    }
  }

  // P or dS to where all warps find it, [key][query].
  __device__ __forceinline__ void put_scores(gpu::Chunk* place, const PackedScores& packed, int chunk) const {
    const int row = own_key + gpu::lane_index() / 4;
    const int first = (own_query + chunk * Spec::tuning.chunk_q) / 8;
#pragma unroll
    for (int k = 0; k < kChunkSteps; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t* words = ScoreTile::words(place, row, first + 2 * k + i / 2);
#pragma unroll
        for (int r = 0; r < kKeyTiles; ++r) {
          words[(16 * r + 8 * (i % 2)) * ScoreTile::row_bytes / 4] = packed[r][k][i];
        }
      }
    }
  }

  // ---- dQ ----

  // dQ += dS K over all keys of the tile: this warp's piece of the tile's rows and columns, straight to the
  // sums. In order: all threads behind the turn, and all before the next one's.
  __device__ __forceinline__ void add_dq(const Step& step) const {
    constexpr int kRowTiles = Spec::dq_rows / 16;
    constexpr int kColumnTiles = Spec::dq_columns / 8;
    const int warp = gpu::warp_index();
    const int row = warp % Spec::tuning.dq_warps * Spec::dq_rows;
    const int column = warp / Spec::tuning.dq_warps * Spec::dq_columns;
    float dQ[kRowTiles][kColumnTiles][4];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) dQ[m][n][i] = 0;
      }
    }
    const uint32_t from_ds = ScoreTile::across(0, row);
    const uint32_t from_k = Rows::down(0, column);
#pragma unroll
    for (int k = 0; k < Spec::tile_kv / 16; ++k) {
      uint32_t a[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        gpu::ldmatrix_x4_trans(a[m], gpu::shared_address(smem.scores[kDs]) +
                                         ScoreTile::at_columns(from_ds, m) + 16 * k * ScoreTile::row_bytes);
      }
#pragma unroll
      for (int n = 0; n < kColumnTiles; n += 2) {
        uint32_t b[4];
        gpu::ldmatrix_x4_trans(
            b, gpu::shared_address(smem.k) + Rows::at_columns(from_k, n / 2) + 16 * k * Rows::row_bytes);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          gpu::mma_m16n8k16<T>(dQ[m][n], a[m], b[0], b[1]);
          gpu::mma_m16n8k16<T>(dQ[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }

    const int64_t padded_row = work.padded_row(p, step);
    int* counter = p.counters + 1 + padded_row / Spec::tile_q;
    if (p.in_order) {
      if (gpu::thread_index() == 0) gpu::wait_for_count(counter, work.turn(p, step.q_tile));
      gpu::sync_block();
    }
    const int64_t sums_row = padded_row + row;
    float* to = p.dq_sums + sums_row / kDqPieceRows * (kDqPieceRows * Spec::head_dim) +
                sums_row % kDqPieceRows / 16 * 128 + column * kDqPieceRows + gpu::lane_index();
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          gpu::add_global(to + 128 * m + 8 * kDqPieceRows * n + 32 * i, dQ[m][n][i]);
        }
      }
    }
    if (p.in_order) {
      gpu::sync_block();
      if (gpu::thread_index() == 0) gpu::increment_release(counter);
    }
  }

  // ---- The end ----

  // dK and dV through the places of K and V, so that stores are 16 bytes wide.
  __device__ __forceinline__ void store_gradients() {
    gpu::sync_block();  // all have read K and V for the last time
    put_gradient(smem.k, dK, p.scale);
    put_gradient(smem.v, dV, raise());
    gpu::sync_block();
    store_rows<Spec::tile_kv, Spec::head_dim, Spec::threads, T>(smem.k, p.dk, work.k_entry(), work.kv_head,
                                                                work.first_key, work.kv_rows(p), p.head_dim);
    store_rows<Spec::tile_kv, Spec::head_dim, Spec::threads, T>(smem.v, p.dv, work.k_entry(), work.kv_head,
                                                                work.first_key, work.kv_rows(p), p.head_dim);
  }

  // What weights that dropout keeps are multiplied by, where any are left out.
  __device__ __forceinline__ float raise() const {
    if constexpr (Spec::general) return p.dropout.raise();
    return 1.0F;
  }

  __device__ __forceinline__ void put_gradient(gpu::Chunk* place, const Gradient& sums, float scale) const {
    const int row = own_key + gpu::lane_index() / 4;
#pragma unroll
    for (int c = 0; c < Spec::column_tiles; ++c) {
      uint32_t* words = Rows::words(place, row, own_column / 8 + c);
#pragma unroll
      for (int r = 0; r < kKeyTiles; ++r) {
        const float(&four)[4] = sums[r][c];
        words[16 * r * Rows::row_bytes / 4] = gpu::pack<T>(four[0] * scale, four[1] * scale);
        words[(16 * r + 8) * Rows::row_bytes / 4] = gpu::pack<T>(four[2] * scale, four[3] * scale);
      }
    }
  }
};

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

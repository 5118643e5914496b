// SPDX-License-Identifier: MIT
// The compiled forms of ampere_backward: element type, one row of this table, and what rows see.
#pragma once

#include <type_traits>

#include "kernels/ampere_backward/params.h"
#include "primitives/target.h"

namespace flashmoe::kernels::ampere_backward {

struct Tuning {       // every field but head_dim changes speed, never what is computed
  int head_dim;       // compiled; smaller ones are filled up with zeros
  int tile_q;         // query rows per step
  int tile_kv;        // keys of a block
  int key_warps;      // warps along the keys: each has tile_kv / key_warps of them
  int query_warps;    // and along the queries. One: P and dS stay in a warp's registers. More: they meet in
                      // shared memory, and each warp has its share of the columns of dK and dV
  int chunk_q;        // queries that a warp takes at a time
  int stages;         // of Q and dO
  int dq_warps;       // warps along the rows of dQ; the others along its columns
  int blocks_per_sm;  // that registers leave room for

  constexpr int threads() const { return 32 * key_warps * query_warps; }
};

// Rows of a head_dim are in the order of preference: dispatch takes the first of which blocks_per_sm
// fit the GPU's shared memory. The second of each is for GPUs that give a block 99 KB.
inline constexpr Tuning kTunings[] = {
    {.head_dim = 64,
     .tile_q = 64,
     .tile_kv = 128,
     .key_warps = 4,
     .query_warps = 1,
     .chunk_q = 32,
     .stages = 2,
     .dq_warps = 2,
     .blocks_per_sm = 2},
    {.head_dim = 64,
     .tile_q = 64,
     .tile_kv = 128,
     .key_warps = 8,
     .query_warps = 1,
     .chunk_q = 32,
     .stages = 2,
     .dq_warps = 2,
     .blocks_per_sm = 1},
    {.head_dim = 128,
     .tile_q = 64,
     .tile_kv = 128,
     .key_warps = 4,
     .query_warps = 2,
     .chunk_q = 32,
     .stages = 2,
     .dq_warps = 2,
     .blocks_per_sm = 1},
    {.head_dim = 128,
     .tile_q = 32,
     .tile_kv = 128,
     .key_warps = 4,
     .query_warps = 2,
     .chunk_q = 16,
     .stages = 1,
     .dq_warps = 2,
     .blocks_per_sm = 1},
    {.head_dim = 256,
     .tile_q = 64,
     .tile_kv = 64,
     .key_warps = 2,
     .query_warps = 4,
     .chunk_q = 16,
     .stages = 1,
     .dq_warps = 2,
     .blocks_per_sm = 1},
    {.head_dim = 256,
     .tile_q = 32,
     .tile_kv = 32,
     .key_warps = 2,
     .query_warps = 2,
     .chunk_q = 16,
     .stages = 1,
     .dq_warps = 1,
     .blocks_per_sm = 1},
};
inline constexpr int kNumTunings = sizeof(kTunings) / sizeof(kTunings[0]);

// What rows see: all keys up to one of their own; or runs that may begin anywhere, by a rule
// (BackwardParams::runs). The general form takes whatever GeneralParams can say, scores that change included;
// the last one a tensor beside that.
enum class Form { from_first, runs, general, pairs };

// The general form has one row of the table for each head_dim: the last, which fits every GPU.
constexpr bool is_general(int tuning) {
  return tuning + 1 == kNumTunings || kTunings[tuning + 1].head_dim != kTunings[tuning].head_dim;
}

template <class T, int kTuning, Form kForm>
struct Spec {
  using Element = T;
  static constexpr bool runs = kForm == Form::runs;
  static constexpr bool pairs = kForm == Form::pairs;
  static constexpr bool general = kForm == Form::general || pairs;
  using Params = std::conditional_t<pairs, GeneralPairParams,
                                    std::conditional_t<general, GeneralParams, BackwardParams>>;
  static constexpr Tuning tuning = kTunings[kTuning];
  static constexpr int head_dim = tuning.head_dim;
  static constexpr int tile_q = tuning.tile_q;
  static constexpr int tile_kv = tuning.tile_kv;
  static constexpr int stages = tuning.stages;
  static constexpr int threads = tuning.threads();
  static constexpr int warps = threads / 32;

  // What a warp has of the scores, and of dK and dV.
  static constexpr bool shares_scores = tuning.query_warps > 1;
  static constexpr int own_keys = tile_kv / tuning.key_warps;
  static constexpr int own_queries = tile_q / tuning.query_warps;
  static constexpr int own_columns = head_dim / tuning.query_warps;
  static constexpr int key_tiles = own_keys / 16;
  static constexpr int chunk_tiles = tuning.chunk_q / 8;
  static constexpr int chunks = own_queries / tuning.chunk_q;
  static constexpr int column_tiles = own_columns / 8;

  // And of dQ.
  static constexpr int dq_rows = tile_q / tuning.dq_warps;
  static constexpr int dq_columns = head_dim / (warps / tuning.dq_warps);

  static_assert(own_keys % 16 == 0 && tuning.chunk_q % 16 == 0 && own_queries % tuning.chunk_q == 0);
  static_assert(own_columns % 16 == 0 && dq_rows % 16 == 0 && 64 % dq_rows == 0 && dq_columns % 16 == 0);
  static_assert(stages == 1 || stages == 2);
  // Blocks take turns by tiles of queries, with the counters that there are for pieces of dQ.
  static_assert(tile_q * head_dim >= 64 * 64);
};

}  // namespace flashmoe::kernels::ampere_backward

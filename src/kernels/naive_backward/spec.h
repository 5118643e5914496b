// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kept_pairs.h"
#include "kernels/pair_params.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"

namespace flashmoe::kernels::naive_backward {

inline constexpr int kTile = 64;      // query rows, and keys, per tile
inline constexpr int kSlice = 32;     // columns of a tile in shared memory at a time
inline constexpr int kThreads = 256;  // a 16 x 16 grid; each thread has 4 rows and every 16th column

template <class T, int kDim>
struct Spec {
  using Element = T;
  static constexpr int head_dim = kDim;  // the largest it takes; a multiple of kSlice
  static constexpr int slices = kDim / kSlice;
  using Scores = NoScores;  // what the kernel is told of them
  static constexpr bool scores = false;
  static constexpr bool lengths = false;
  static constexpr bool dropout = false;
};

// The general form: scores change between q k^T and the softmax.
template <class Plain>
struct WithScores : Plain {
  using Scores = ScoreParams;
  static constexpr bool scores = true;
};

// The general form with a tensor that adds to scores, or hides keys.
template <class Plain>
struct WithPairs : WithScores<Plain> {
  using Scores = PairScoreParams;
};

// What it is told where sequences differ in length; distances count from the first key of each.
struct LengthParams : ScoreParams {
  SequenceTiles q_tiles, k_tiles;
  int num_q_tiles, num_k_tiles;  // that there may be
};

// The general form for sequences of different lengths: blocks take their tiles from lists.
template <class Plain>
struct WithLengths : WithScores<Plain> {
  using Scores = LengthParams;
  static constexpr bool lengths = true;
};

// One of these with dropout.
template <class General>
struct WithDropout : General {
  using Scores = WithPairDropout<typename General::Scores>;
  static constexpr bool dropout = true;
};

}  // namespace flashmoe::kernels::naive_backward

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
  static constexpr bool general = false;
  static constexpr bool lengths = false;
};

// The general form: scores change between q k^T and the softmax, by a tensor too, and weights may be left
// out.
template <class Plain>
struct General : Plain {
  using Scores = WithPairDropout<PairScoreParams>;
  static constexpr bool general = true;
};

// What it is told where sequences differ in length; distances count from the first key of each.
struct LengthParams : ScoreParams {
  SequenceTiles q_tiles, k_tiles;
  int num_q_tiles, num_k_tiles;  // that there may be
};

// The general form for sequences of different lengths, without a tensor: blocks take their tiles from lists.
template <class Plain>
struct GeneralLengths : General<Plain> {
  using Scores = WithPairDropout<LengthParams>;
  static constexpr bool lengths = true;
};

}  // namespace flashmoe::kernels::naive_backward

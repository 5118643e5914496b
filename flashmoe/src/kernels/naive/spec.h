// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kept_pairs.h"
#include "kernels/pair_params.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"

namespace flashmoe::kernels::naive {

inline constexpr int kTile = 64;      // query rows, and keys, per tile
inline constexpr int kSlice = 32;     // columns of Q, K or V in shared memory at a time
inline constexpr int kThreads = 256;  // a 16 x 16 grid; each thread has 4 rows and every 16th column

template <class T, int kDim>
struct Spec {
  using Element = T;
  static constexpr int head_dim = kDim;  // the largest it takes; a multiple of kSlice
  static constexpr int slices = kDim / kSlice;
  static constexpr int outputs = kTile * kDim / kThreads;  // of a thread
  static constexpr bool long_sums = false;
  using Scores = NoScores;  // what the kernel is told of them
  static constexpr bool general = false;
  static constexpr bool lengths = false;
  static constexpr int blocks_per_sm = kDim <= 128 ? 2 : 1;  // as registers allow
};

// For so many keys that one sum over them would be off in fp32: sums have three levels, so that none has many
// terms. The keys of a tile, the tiles of a stretch, the stretches.
template <class T, int kDim>
struct LongSpec : Spec<T, kDim> {
  static constexpr bool long_sums = true;
  static constexpr int blocks_per_sm = 1;  // with half of the registers, stretches spill
};

// The general form: scores change between q k^T and the softmax, by a tensor too, rows may have sinks, and
// weights may be left out.
template <class Plain>
struct General : Plain {
  using Scores = WithPairDropout<PairScoreParams>;
  static constexpr bool general = true;
  static constexpr int blocks_per_sm = !Plain::long_sums && Plain::head_dim <= 64 ? 2 : 1;  // as above
};

// What it is told where sequences differ in length; distances count from the first key of each.
struct LengthParams : ScoreParams {
  SequenceTiles tiles;
};

// The general form for sequences of different lengths, without a tensor: blocks take their tiles from a list.
template <class Plain>
struct GeneralLengths : General<Plain> {
  using Scores = WithPairDropout<LengthParams>;
  static constexpr bool lengths = true;
};

inline constexpr int kStretch = 32;           // tiles
inline constexpr int kLeastLongKeys = 16384;  // keys from which sums are long

}  // namespace flashmoe::kernels::naive

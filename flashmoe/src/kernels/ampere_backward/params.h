// SPDX-License-Identifier: MIT
// What the general form of ampere_backward is told.
#pragma once

#include "kernels/backward_params.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_params.h"
#include "kernels/pair_sums.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "numeric/dropout.h"

namespace flashmoe::kernels::ampere_backward {

struct GeneralParams : BackwardParams {
  ScoreParams scores;
  PairDropout dropout;
  int num_first_keys;  // where the table has first keys: of a row, at most
  // Sequences of different lengths: tiles of keys, which `order` numbers, and where query rows lie in
  // workspace. No tiles: there are batch entries.
  SequenceTiles sequences;
  PaddedSequences padded;
};

// The same where a tensor adds to scores, or hides keys.
struct GeneralPairParams : GeneralParams {
  PairParams pairs;
  // Its gradient: null, it is not wanted. Elements that are sums are 0 before, and so are all where tiles are
  // left out.
  PairSums dpairs;
  bool dpairs_are_sums;  // some element has more than one pair
};

}  // namespace flashmoe::kernels::ampere_backward

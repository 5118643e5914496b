// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/pair_bits.h"
#include "kernels/pair_params.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "numeric/dropout.h"

namespace flashmoe::kernels::ampere_forward {

// What the general form is told beside everything else. Which of it a problem has is asked while the kernel
// runs, the same for all threads.
struct GeneralParams {
  Runs runs;                // what rows see by rule ...
  RowTable table;           // ... or, where it is given, row by row ...
  SequenceTiles sequences;  // ... or, where there are tiles, by the rule of their sequences
  ScoreParams scores;       // in units of log2, unless nothing changes them: dispatch/scores.h
  PairDropout dropout;
};

// And, in the form with a tensor, of that: it takes no lengths, and scores in units of log2. A bool one is
// known by its bits; one that is added is read where it lies, and may have what whole tiles show of it
// beside.
struct GeneralPairs {
  PairParams tensor;
  PairBits bits;
};

}  // namespace flashmoe::kernels::ampere_forward

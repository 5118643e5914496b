// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"
#include "kernels/pair_params.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "numeric/dropout.h"

namespace flashmoe::kernels::naive {

inline namespace FLASHMOE_TARGET {
// Rows see what `table` says, where it is given, else `runs`, whatever mask `params` has.
void launch(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
            unsigned blocks, void* stream);
// The same in the general form. What is not given changes nothing: a tensor that has values for no rows,
// dropout of none.
void launch_general(DType dtype, const ForwardParams& params, const Runs& runs, const RowTable& table,
                    const PairScoreParams& scores, const PairDropout& dropout, unsigned blocks, void* stream);
// The same for sequences of different lengths: params.order numbers the tiles of the list, and the table,
// where it is given, has their places for entries.
void launch_lengths(DType dtype, const ForwardParams& params, const SequenceTiles& tiles,
                    const RowTable& table, const ScoreParams& scores, const PairDropout& dropout,
                    unsigned blocks, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::naive

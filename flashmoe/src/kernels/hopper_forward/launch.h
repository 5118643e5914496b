// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"
#include "kernels/pair_bits.h"
#include "kernels/pair_params.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "primitives/target.h"

namespace flashmoe::kernels::hopper_forward {

// Dynamic shared memory of a row of kTunings, and where a tensor is added.
int smem_bytes(int tuning);
int smem_bytes_with_bias(int tuning);

inline namespace FLASHMOE_TARGET {
// fp16 and bf16; `tuning` is an index into kTunings, `blocks` as many as run at once, per split.
// Rows begin at multiples of 16 bytes, strides of dimensions larger than 1 are positive, and params.pack
// divides 64.
void launch(DType dtype, const ForwardParams& params, int tuning, unsigned blocks, void* stream);
// The same where rows see `runs`, whatever mask `params` has, for tunings with such a form.
void launch_runs(DType dtype, const ForwardParams& params, const Runs& runs, int tuning, unsigned blocks,
                 void* stream);
// The same where a table says what rows see; params.pack is 1, and there is one split.
void launch_rows(DType dtype, const ForwardParams& params, const RowTable& table, int tuning, unsigned blocks,
                 void* stream);
// The same where bits do, for tunings with such a form.
void launch_bits(DType dtype, const ForwardParams& params, const PairBits& bits, int tuning, unsigned blocks,
                 void* stream);
// The same where rows see `runs`, and a tensor of the same type is added to scores: its keys are neighbours,
// and the strides of dimensions that are not shared positive multiples of 16 bytes. Of `bits` only what whole
// tiles have is read: beyond that everything is -inf. `params` has the scale of what follows.
void launch_bias(DType dtype, const ForwardParams& params, const Runs& runs, const PairBits& bits,
                 const PairScoreParams& scores, int tuning, unsigned blocks, void* stream);
// The same for sequences of different lengths, for tunings with such a form; params.order numbers the tiles
// of the list, in which the last of each sequence is whole.
void launch_lengths(DType dtype, const ForwardParams& params, const SequenceTiles& sequences,
                    const Places& places, int tuning, unsigned blocks, void* stream);
// The same, and scores change, or rows have sinks; `params` has the scale of what follows the change. For
// tunings with such forms.
void launch_scores(DType dtype, const ForwardParams& params, const Runs& runs, Change change,
                   const ScoreParams& scores, int tuning, unsigned blocks, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::hopper_forward

// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/backward_params.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_bits.h"
#include "kernels/pair_params.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "primitives/target.h"

namespace flashmoe::kernels::hopper_backward {

// Dynamic shared memory of a row of kTunings, and where a tensor is added.
int smem_bytes(int tuning);
int smem_bytes_with_bias(int tuning);

inline namespace FLASHMOE_TARGET {
// fp16 and bf16; `tuning` is an index into kTunings. Between prepare_backward and finish_backward on the same
// stream. Rows begin at multiples of 16 bytes, head_dim is a multiple of 8, strides of dimensions larger than
// 1 are positive. With params.in_order, params.order has later keys first.
void launch(DType dtype, const BackwardParams& params, int tuning, void* stream);
// The same where params.runs may begin anywhere.
void launch_runs(DType dtype, const BackwardParams& params, int tuning, void* stream);
// And where params.table says what rows see.
void launch_rows(DType dtype, const BackwardParams& params, int tuning, void* stream);
// The same for sequences of different lengths, in no order: params.order numbers the tiles of keys in the
// list, which count from a sequence's end, and views count by places.
void launch_lengths(DType dtype, const BackwardParams& params, const SequenceTiles& sequences,
                    const PaddedSequences& padded, const Places& places, int tuning, void* stream);
// The same where one bit for each query row and key says which it sees.
void launch_bits(DType dtype, const BackwardParams& params, const PairBits& bits, int tuning, void* stream);
// As launch_runs, and a tensor of the same type is added to scores: its keys are neighbours, and the strides
// of dimensions that are not shared positive multiples of 16 bytes. Of `bits` only what whole tiles have is
// read: beyond that everything is -inf. params.scale_log2e is that of what follows. For tunings with such a
// form.
void launch_bias(DType dtype, const BackwardParams& params, const PairBits& bits,
                 const PairScoreParams& scores, int tuning, void* stream);
// As launch_runs, and scores change by softcap or slopes; params.scale_log2e is that of what follows the
// change.
void launch_scores(DType dtype, const BackwardParams& params, Change change, const ScoreParams& scores,
                   int tuning, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::hopper_backward

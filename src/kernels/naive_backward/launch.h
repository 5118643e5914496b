// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/backward_params.h"
#include "kernels/naive_backward/spec.h"
#include "kernels/pair_params.h"
#include "kernels/pair_sums.h"
#include "kernels/score_params.h"
#include "numeric/dropout.h"

namespace flashmoe::kernels::naive_backward {

inline namespace FLASHMOE_TARGET {
// All of dq, dk and dv, by two kernels: nothing of the workspace, and no kernel before or behind.
void launch(DType dtype, const BackwardParams& params, void* stream);
// The same, and scores change.
void launch_scores(DType dtype, const BackwardParams& params, const ScoreParams& scores, void* stream);
// The same, and a tensor is part of it.
void launch_pairs(DType dtype, const BackwardParams& params, const PairScoreParams& scores, void* stream);
// The gradient of that tensor, by a kernel of its own, with dropout or without any.
void launch_pair_gradient(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                          const PairDropout& dropout, const PairSums& sums, void* stream);
// The same for sequences of different lengths.
void launch_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths, void* stream);
// All of that with dropout, where a tensor need not be part of it: none has values for no rows.
void launch_dropout(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                    const PairDropout& dropout, void* stream);
void launch_dropout_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths,
                            const PairDropout& dropout, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::naive_backward

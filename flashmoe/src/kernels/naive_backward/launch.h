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
// The same in the general form. What is not given changes nothing: a tensor that has values for no rows,
// dropout of none.
void launch_general(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                    const PairDropout& dropout, void* stream);
// The same for sequences of different lengths.
void launch_lengths(DType dtype, const BackwardParams& params, const LengthParams& lengths,
                    const PairDropout& dropout, void* stream);
// The gradient of the tensor, by a kernel of its own.
void launch_pair_gradient(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                          const PairDropout& dropout, const PairSums& sums, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::naive_backward

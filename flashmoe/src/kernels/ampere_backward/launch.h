// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/ampere_backward/params.h"
#include "primitives/target.h"

namespace flashmoe::kernels::ampere_backward {

// Dynamic shared memory of a row of kTunings, and in the general form.
int smem_bytes(int tuning);
int smem_bytes_general(int tuning);

inline namespace FLASHMOE_TARGET {
// fp16 and bf16; `tuning` is an index into kTunings. Between prepare_backward and finish_backward on the same
// stream. Rows begin at multiples of 16 bytes, head_dim is a multiple of 8. With params.in_order,
// params.order has later keys first.
void launch(DType dtype, const BackwardParams& params, int tuning, void* stream);
// The same where params.runs may begin anywhere.
void launch_runs(DType dtype, const BackwardParams& params, int tuning, void* stream);
// Whatever the parameters say, for rows of kTunings with is_general(). Sequences of different lengths, and
// first keys, in no order.
void launch_general(DType dtype, const GeneralParams& params, int tuning, void* stream);
// The same with a tensor, and its gradient where that is wanted.
void launch_pairs(DType dtype, const GeneralPairParams& params, int tuning, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::ampere_backward

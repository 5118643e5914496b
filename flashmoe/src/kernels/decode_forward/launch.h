// SPDX-License-Identifier: MIT
// The host side of decode_forward.
#pragma once

#include "flashmoe/attention.h"
#include "kernels/forward_params.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

// Starts configuration `tuning` (an index into kTunings) on `stream`. Rows must start on multiples of 16
// bytes, head_dim must be a multiple of 8, group * q_rows at most 8, the scale above 0, and
// params.order.heads the number of K/V heads. With more than one split, combine_splits makes the result. With
// `programmatic`, this kernel may start while its predecessor on the stream still runs, and lets its
// successor do so.
void launch(DType dtype, const ForwardParams& params, int tuning, bool programmatic, void* stream);

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET

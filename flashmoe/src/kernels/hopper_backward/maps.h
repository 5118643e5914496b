// SPDX-License-Identifier: MIT
// The tensor maps of a call.
#pragma once

#include "kernels/hopper_backward/params.h"
#include "kernels/hopper_backward/spec.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// Fills in all maps from params.problem. Tensors have so many batch entries, or places (sequence_tiles.h).
void set_maps(Params& params, const Tuning& tuning, int64_t q_batch, int64_t k_batch);

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The tensor maps of a call.
#pragma once

#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// Fills in params.q, out, k and v from params.problem; tensors have so many batch entries.
void set_maps(Params& params, const Tuning& tuning, int64_t q_batch, int64_t k_batch);

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

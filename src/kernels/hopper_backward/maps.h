// SPDX-License-Identifier: MIT
// The tensor maps of a call.
#pragma once

#include "kernels/hopper_backward/params.h"
#include "kernels/hopper_backward/spec.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// Fills in all maps from params.problem.
void set_maps(Params& params, const Tuning& tuning);

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

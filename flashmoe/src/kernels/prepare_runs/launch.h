// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/prepare_runs/params.h"
#include "primitives/target.h"

namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET {

// There is at least one row, and one key.
void launch(const Params& params, void* stream);
void launch_sequences(const SequenceParams& params, void* stream);

}  // namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET

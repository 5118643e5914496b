// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/prepare_pairs/params.h"
#include "primitives/target.h"

namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET {

// There is at least one row and one key.
void launch(const Params& params, void* stream);

}  // namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET

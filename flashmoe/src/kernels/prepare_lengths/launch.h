// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/prepare_lengths/params.h"

namespace flashmoe::kernels::prepare_lengths {

inline namespace FLASHMOE_TARGET {
// Writes the lists, and clears rows that no sequence computes.
void launch(const Params& params, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::prepare_lengths

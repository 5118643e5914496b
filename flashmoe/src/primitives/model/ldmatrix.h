// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void ldmatrix_x4(uint32_t (&fragment)[4], uint32_t row, const model::Where& where = model::Where::current());
void ldmatrix_x4_trans(uint32_t (&fragment)[4], uint32_t row,
                       const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

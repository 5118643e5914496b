// SPDX-License-Identifier: MIT
#pragma once

#include "numeric/half.h"
#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// For fp16 and bf16. Adds in fp32 in the order of k; a GPU's order may differ, within rounding.
template <class T>
void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                  const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

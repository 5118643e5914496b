// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier,
               const model::Where& where = model::Where::current());
void bulk_reduce_add(float* to, uint32_t from, uint32_t bytes,
                     const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

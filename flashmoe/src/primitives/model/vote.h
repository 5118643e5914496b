// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

uint32_t ballot(bool predicate, const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

float shuffle_xor(float value, int lane_mask, const model::Where& where = model::Where::current());
float shuffle(float value, int lane, const model::Where& where = model::Where::current());
bool any_lane(bool predicate, const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

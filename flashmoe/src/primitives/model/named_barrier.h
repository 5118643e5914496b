// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void named_barrier_sync(int number, int threads, const model::Where& where = model::Where::current());
void named_barrier_arrive(int number, int threads, const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

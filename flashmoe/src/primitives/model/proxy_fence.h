// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// What is read asynchronously, though a thread wrote it without one of these in between, is reported by
// order.h.
inline void fence_proxy_async(const model::Where& where = model::Where::current()) {
  model::note("fence_proxy_async", where);
  ++model::current->proxy_fences;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

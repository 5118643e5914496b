// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// order.h reports an asynchronous read of data that a thread wrote without calling this function in
// between.
inline void fence_proxy_async(const model::Where& where = model::Where::current()) {
  model::note("fence_proxy_async", where);
  ++model::current->proxy_fences;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The model runs one kernel after the other, so both ends of the overlap are in order; but a thread of a
// programmatic launch that touches global memory before its wait is reported.
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void wait_for_previous_kernel(const model::Where& where = model::Where::current()) {
  model::note("wait_for_previous_kernel", where);
  model::current->may_touch_global = true;
}
inline void let_next_kernel_start(const model::Where& where = model::Where::current()) {
  model::note("let_next_kernel_start", where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

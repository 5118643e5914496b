// SPDX-License-Identifier: MIT
// The model runs kernels one after the other, so it never overlaps them; but it reports a thread of a
// programmatic launch that touches global memory before griddepcontrol_wait().
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void griddepcontrol_wait(const model::Where& where = model::Where::current()) {
  model::note("griddepcontrol_wait", where);
  model::current->may_touch_global = true;
}
inline void griddepcontrol_launch_dependents(const model::Where& where = model::Where::current()) {
  model::note("griddepcontrol_launch_dependents", where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

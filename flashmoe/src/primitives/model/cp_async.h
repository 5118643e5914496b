// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::model {
void wait_for_copies(uint64_t pending, const Where& where);
}

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void cp_async_16(uint32_t to, const void* from, bool there,
                 const model::Where& where = model::Where::current());
void cp_async_commit(const model::Where& where = model::Where::current());

template <int kPending>
void cp_async_wait(const model::Where& where = model::Where::current()) {
  model::wait_for_copies(kPending, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

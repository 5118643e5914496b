// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class Layout>
Layout& shared(const model::Where& where = model::Where::current()) {
  if (sizeof(Layout) > model::current->block->smem_bytes) {
    model::report("shared: the layout has " + std::to_string(sizeof(Layout)) +
                      " bytes, and the launch asked for " + std::to_string(model::current->block->smem_bytes),
                  where);
  }
  return *reinterpret_cast<Layout*>(model::current->block->smem);
}

inline uint32_t shared_address(const void* place, const model::Where& where = model::Where::current()) {
  const auto* byte = static_cast<const std::byte*>(place);
  const model::Block& block = *model::current->block;
  if (byte < block.smem || byte > block.smem + block.smem_bytes) {
    model::report("shared_address: the pointer does not point into this block's shared memory", where);
  }
  return model::kSharedWindow + static_cast<uint32_t>(byte - block.smem);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

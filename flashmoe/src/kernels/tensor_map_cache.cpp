// SPDX-License-Identifier: MIT
#include "kernels/tensor_map_cache.h"

#include <array>

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

const gpu::TensorMap& cached_tensor_map(const gpu::TensorMapShape& shape) {
  struct Entry {
    gpu::TensorMapShape shape{};
    gpu::TensorMap map{};
  };
  // Room for the tensors of some layers; the oldest goes.
  thread_local std::array<Entry, 64> entries;
  thread_local std::size_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.shape == shape) return entry.map;
  }
  Entry& entry = entries[next];
  next = (next + 1) % entries.size();
  entry.map = gpu::make_tensor_map(shape);  // may throw: the entry is then as it was
  entry.shape = shape;
  return entry.map;
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET

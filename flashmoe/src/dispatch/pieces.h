// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {

// Hands out pieces of a buffer in order; with no buffer it only counts.
struct Pieces {
  std::byte* base;
  std::size_t used = 0;

  template <class T>
  T* take(int64_t count) {
    T* piece = base == nullptr ? nullptr : reinterpret_cast<T*>(base + used);
    used += static_cast<std::size_t>(
                ceil_div(count * static_cast<int64_t>(sizeof(T)), int64_t{kWorkspaceAlignment})) *
            kWorkspaceAlignment;
    return piece;
  }
};

}  // namespace flashmoe::dispatch

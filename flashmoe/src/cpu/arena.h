// SPDX-License-Identifier: MIT
// Hands out aligned pieces of a buffer in order; with no buffer, only counts how much is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/ceil_div.h"

namespace flashmoe::cpu {

inline constexpr std::size_t kCacheLine = 64;

inline constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

class Arena {
 public:
  explicit Arena(std::byte* base) : base_(base) {}

  // `count` elements, aligned to a cache line; null when there is no buffer.
  template <class T>
  T* take(int64_t count) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }

  std::size_t bytes() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace flashmoe::cpu

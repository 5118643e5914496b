// SPDX-License-Identifier: MIT
// Several vectors as a pack of references: those of scalable length fit in no array. Everything here is
// inlined, and the vectors are registers. Included once per SIMD target.
#if defined(FLASHMOE_CPU_VECTOR_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_VECTOR_PACK_INL_H_
#undef FLASHMOE_CPU_VECTOR_PACK_INL_H_
#else
#define FLASHMOE_CPU_VECTOR_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/target-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// body(v...) with kCount vectors that hold nothing yet. `body` is an object whose operator() is HWY_INLINE: a
// lambda would be compiled for another instruction set.
template <int kCount, class Body, class... V>
HWY_INLINE void with_vectors(const Body& body, V&... v) {
  if constexpr (sizeof...(V) == kCount) {
    body(v...);
  } else {
    Vector next;
    with_vectors<kCount>(body, v..., next);
  }
}

// Vector number kIndex of a pack.
template <int kIndex, class First, class... Rest>
HWY_INLINE const auto& nth(const First& first, const Rest&... rest) {
  if constexpr (kIndex == 0) {
    return first;
  } else {
    return nth<kIndex - 1>(rest...);
  }
}

// Vector i of a pack lies at i / kInRow rows and i % kInRow vectors.
template <int kInRow>
HWY_INLINE int64_t offset_in_rows(std::size_t i, int64_t stride) {
  return static_cast<int64_t>(i / kInRow) * stride + static_cast<int64_t>(i % kInRow) * lanes();
}

template <int kInRow, std::size_t... i, class... V>
HWY_INLINE void load_rows(std::index_sequence<i...>, const float* from, int64_t stride, V&... v) {
  ((v = hn::Load(Tag(), from + offset_in_rows<kInRow>(i, stride))), ...);
}

template <int kInRow, std::size_t... i, class... V>
HWY_INLINE void add_rows(std::index_sequence<i...>, const float* from, int64_t stride, V&... v) {
  ((v = hn::Add(v, hn::Load(Tag(), from + offset_in_rows<kInRow>(i, stride)))), ...);
}

template <int kInRow, std::size_t... i, class... V>
HWY_INLINE void store_rows(std::index_sequence<i...>, float* to, int64_t stride, const V&... v) {
  (hn::Store(v, Tag(), to + offset_in_rows<kInRow>(i, stride)), ...);
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

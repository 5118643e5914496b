// SPDX-License-Identifier: MIT
// What a lane of a matrix product reads of a tensor that is added to scores: the values of a row's two
// neighbouring keys at a time, as they lie in memory. Loaded before a product, which hides how long that
// takes, and turned into numbers behind it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/pair_params.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/memory.h"
#include "primitives/registers.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Of fp32 a word each; of 16 bits both are in the first.
struct alignas(8) TwoValues {
  uint32_t first, second;
};

// Of the first key, or the second.
template <class E>
__device__ __forceinline__ float value_of(TwoValues values, int i) {
  if constexpr (sizeof(E) == 4) {
    return gpu::as_float(i == 0 ? values.first : values.second);
  } else {
    return gpu::widen(E{static_cast<uint16_t>(values.first >> 16 * i)});
  }
}

// What a lane has of a row in a product of 8 * kCount columns: of keys `key` and `key` + 1 and every eighth
// behind them. `row` is the element of the row's first key. Keys past the last have no value, and nobody sees
// their scores. E: float, fp16 or bf16.
template <class E, int kCount>
__device__ __forceinline__ void load_by_two(TwoValues (&values)[kCount], const PairParams& pairs, int64_t row,
                                            int key) {
  const E* from = static_cast<const E*>(pairs.data) + row + key;
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    values[n] = {0, 0};
    if (key + 8 * n >= pairs.kv_rows) continue;
    if constexpr (sizeof(E) == 4) {
      values[n] = gpu::load_global(reinterpret_cast<const TwoValues*>(from + 8 * n));
    } else {
      values[n].first = gpu::load_global(reinterpret_cast<const uint32_t*>(from + 8 * n));
    }
  }
}

template <class E, int kCount>
__device__ __forceinline__ void load_one_by_one(TwoValues (&values)[kCount], const PairParams& pairs,
                                                int64_t row, int key) {
  using Bits = std::conditional_t<sizeof(E) == 4, uint32_t, uint16_t>;
  const auto* from = static_cast<const Bits*>(pairs.data) + row + key * pairs.key_stride;
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    values[n] = {0, 0};
    if (key + 8 * n < pairs.kv_rows) values[n].first = gpu::load_global(from);
    if (key + 8 * n + 1 < pairs.kv_rows) values[n].second = gpu::load_global(from + pairs.key_stride);
    if constexpr (sizeof(E) == 2) values[n].first |= values[n].second << 16;
    from = gpu::opaque(from + 8 * pairs.key_stride);  // else all addresses come before all loads
  }
}

// Calls `use` with an element of a tensor that is added: all threads alike.
template <class Use>
__device__ __forceinline__ void with_element(PairType type, const Use& use) {
  switch (type) {
    case PairType::fp32:
      return use(float{});
    case PairType::fp16:
      return use(fp16{});
    case PairType::bf16:
      return use(bf16{});
    case PairType::boolean:
      return;
  }
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET

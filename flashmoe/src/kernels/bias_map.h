// SPDX-License-Identifier: MIT
// What TMA knows of a tensor that is added to scores.
#pragma once

#include "kernels/pair_params.h"
#include "kernels/tensor_map_cache.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// A tile has 64 keys of 64 rows. What batch entries or heads share has one entry.
inline const gpu::TensorMap& bias_map(const PairParams& pairs, int64_t batch, int64_t heads) {
  if (pairs.batch_stride == 0) batch = 1;
  if (pairs.head_stride == 0) heads = 1;
  return cached_tensor_map({.data = pairs.data,
                            .rank = 4,
                            .sizes = {pairs.kv_rows, pairs.q_rows, heads, batch},
                            .stride_bytes = {0, map_stride_bytes(pairs.q_rows, pairs.row_stride),
                                             map_stride_bytes(heads, pairs.head_stride),
                                             map_stride_bytes(batch, pairs.batch_stride)},
                            .box_dim = {64, 64, 1, 1},
                            .swizzle = gpu::Swizzle::bytes_128});
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET

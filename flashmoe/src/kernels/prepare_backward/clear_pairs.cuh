// SPDX-License-Identifier: MIT
// clear_pairs: zeros to which the gradient of a tensor with a value for every query row and key is added.
// Bound: memory. Roles: a block has kRowsOfBlock rows of an entry; threads side by side have neighbouring
// keys.
#pragma once

#include "kernels/backward_params.h"
#include "kernels/pair_sums.h"
#include "primitives/index.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {

inline constexpr int kClearThreads = 256;
inline constexpr int kRowsOfBlock = 16;

// What there is one of, since others share it, is one part.
struct PairParts {
  int batch, heads, rows, keys;

  FLASHMOE_HD PairParts(const PairSums& to, const BackwardParams& p)
      : batch(PairSums::parts(to.batch_stride, p.batch)),
        heads(PairSums::parts(to.head_stride, p.q_heads)),
        rows(PairSums::parts(to.row_stride, p.q_rows)),
        keys(PairSums::parts(to.key_stride, p.kv_rows)) {}
  FLASHMOE_HD int row_blocks() const { return (rows + kRowsOfBlock - 1) / kRowsOfBlock; }
};

__global__ void inline __launch_bounds__(kClearThreads)
    clear_pairs(const __grid_constant__ BackwardParams p, const __grid_constant__ PairSums to) {
  const PairParts parts(to, p);
  const auto block = static_cast<int>(gpu::block_index());
  const int entry = block / parts.row_blocks();
  const int first_row = (block - entry * parts.row_blocks()) * kRowsOfBlock;
  const int batch = entry / parts.heads;
  float* first = to.data + batch * to.batch_stride + (entry - batch * parts.heads) * to.head_stride;
  for (int row = first_row; row < parts.rows && row < first_row + kRowsOfBlock; ++row) {
    float* keys = first + row * to.row_stride;
    for (int key = gpu::thread_index(); key < parts.keys; key += kClearThreads)
      gpu::store_global(keys + key, 0.0F);
  }
}

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET

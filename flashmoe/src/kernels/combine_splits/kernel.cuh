// SPDX-License-Identifier: MIT
// combine_splits: one result from the shares that several blocks computed over parts of the keys.
// Bound: memory. Reads 4 bytes per split and output element. Roles: one warp per row, lanes side by side in
// columns. Exact for splits that saw no key: their maximum is -inf and their weight 0.
#pragma once

#include <cmath>

#include "kernels/forward_params.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET {

inline constexpr int kWarps = 4;  // rows per block

// kColumns: of 32, that cover the compiled head_dim.
template <class T, int kColumns>
__global__ void __launch_bounds__(32 * kWarps)
    combine_splits(const __grid_constant__ ForwardParams p, int partial_dim) {
  const int64_t rows = int64_t{p.order.batch} * p.q_heads * p.q_rows;
  const int64_t row = int64_t{gpu::block_index()} * kWarps + gpu::warp_index();
  if (row >= rows) return;
  const int lane = gpu::lane_index();

  float largest = -INFINITY;
  for (int split = lane; split < p.num_splits; split += 32) {
    largest = fmaxf(largest, gpu::load_global(p.partial_stats + split * rows + row).max);
  }
  for (int lanes = 1; lanes < 32; lanes *= 2) largest = fmaxf(largest, gpu::shuffle_xor(largest, lanes));
  const float base = largest == -INFINITY ? 0.0F : largest;

  float sum = 0;
  float out[kColumns] = {};
  for (int split = 0; split < p.num_splits; ++split) {
    const RowStats stats = gpu::load_global(p.partial_stats + split * rows + row);
    const float weight = gpu::ex2(stats.max - base) * stats.sum;
    const float* partial = p.partial_out + (split * rows + row) * partial_dim;
    sum += weight;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (32 * i + lane < p.head_dim) out[i] += weight * gpu::load_global(partial + 32 * i + lane);
    }
  }

  const float inverse = sum == 0 ? 0.0F : 1.0F / sum;
  const int64_t head = row / p.q_rows;
  T* to = static_cast<T*>(p.out.data) + head / p.q_heads * p.out.batch_stride +
          head % p.q_heads * p.out.head_stride + row % p.q_rows * p.out.row_stride;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    if (32 * i + lane < p.head_dim) gpu::store_global(to + 32 * i + lane, gpu::narrow<T>(out[i] * inverse));
  }
  if (lane == 0 && p.lse != nullptr) {
    gpu::store_global(p.lse + row, sum == 0 ? -INFINITY : (base + log2f(sum)) * 0.6931471805599453F);
  }
}

}  // namespace flashmoe::kernels::combine_splits::inline FLASHMOE_TARGET

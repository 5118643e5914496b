// SPDX-License-Identifier: MIT
// sink_gradients: dsink = -sum over a head's rows of exp(sink - LSE) (dout . out - dlse).
// Bound: memory. Reads out and dout once; or, where prepare_backward has found LSE and delta = dout . out -
// dlse of every row, those. Roles: a block for each query head, a warp for a row at a time, or a thread; sums
// are added in their order, so that the same arguments give the same bits.
#pragma once

#include <cmath>

#include "kernels/backward_params.h"
#include "kernels/sink_gradients/smem.h"
#include "numeric/half.h"
#include "numeric/lse_log2.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::sink_gradients::inline FLASHMOE_TARGET {

template <class T>
__device__ const T* row_of(const View& view, int batch, int head, int row) {
  return static_cast<const T*>(view.data) + batch * view.batch_stride + head * view.head_stride +
         row * view.row_stride;
}

// Of the warps, each of which has a sum.
__device__ inline void store_sum(Smem& smem, const SinkParams& p, int head, float sum) {
  if (gpu::thread_index() % 32 == 0) smem.sums[gpu::thread_index() / 32] = sum;
  gpu::sync_block();
  if (gpu::thread_index() > 0) return;
  for (int other = 1; other < kThreads / 32; ++other) sum += smem.sums[other];
  gpu::store_global(p.dsinks + head, sum);
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1) sink_gradients(const __grid_constant__ SinkParams p) {
  Smem& smem = gpu::shared<Smem>();
  const auto head = static_cast<int>(gpu::block_index());
  const int warp = gpu::thread_index() / 32;
  const int lane = gpu::thread_index() % 32;
  const float sink_log2 = gpu::load_global(p.sinks + head) * 1.4426950408889634F;
  float sum = 0;
  for (int batch = 0; batch < p.batch; ++batch) {
    for (int row = warp; row < p.q_rows; row += kThreads / 32) {
      const T* out = row_of<T>(p.out, batch, head, row);
      const T* dout = row_of<T>(p.dout, batch, head, row);
      float delta = 0;
      for (int c = lane; c < p.head_dim; c += 32)
        delta += gpu::widen(gpu::load_global(out + c)) * gpu::widen(gpu::load_global(dout + c));
      for (int lanes = 16; lanes > 0; lanes /= 2) delta += gpu::shuffle_xor(delta, lanes);
      const int64_t at = (int64_t{batch} * p.q_heads + head) * p.q_rows + row;
      if (p.dlse != nullptr) delta -= gpu::load_global(p.dlse + at);
      const float lse = lse_log2(gpu::load_global(p.lse + at));
      if (lse != INFINITY) sum -= gpu::ex2(sink_log2 - lse) * delta;  // else the row weighs nothing
    }
  }
  store_sum(smem, p, head, sum);
}

__global__ void inline __launch_bounds__(kThreads)
    sink_gradients_of_statistics(const __grid_constant__ SinkParams p) {
  Smem& smem = gpu::shared<Smem>();
  const auto head = static_cast<int>(gpu::block_index());
  const float sink_log2 = gpu::load_global(p.sinks + head) * 1.4426950408889634F;
  float sum = 0;
  for (int batch = 0; batch < p.batch; ++batch) {
    const int64_t first = (int64_t{batch} * p.q_heads + head) * p.padded_rows;
    for (int row = gpu::thread_index(); row < p.q_rows; row += kThreads) {
      const float lse = gpu::load_global(p.lse_log2 + first + row);  // +inf: the row weighs nothing
      sum -= gpu::ex2(sink_log2 - lse) * gpu::load_global(p.delta + first + row);
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += gpu::shuffle_xor(sum, lanes);
  store_sum(smem, p, head, sum);
}

}  // namespace flashmoe::kernels::sink_gradients::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// The arithmetic of one warp of decode_forward: S^T = K Q^T and O^T = V^T P^T,
// both with 16 keys or columns on the long side of the matrix instruction and the eight query rows on its
// short side. No lane of any operand is empty; the weights change sides by movmatrix.
#pragma once

#include <cmath>

#include "kernels/decode_forward/smem.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/cp_async.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

// Lane 4 g + t keeps the maxima of rows 2 t and 2 t + 1 and a share of their sums. O[i] holds of those two
// rows the columns 16 i + g (elements 0 and 1) and 16 i + 8 + g (2 and 3). Invariant: m is -inf only while
// the row has seen no key; then l and O are 0.
template <class Spec>
class WarpMaths {
  using T = typename Spec::Element;
  static constexpr int kDim = Spec::tuning.head_dim;
  static constexpr int kSteps = Spec::tuning.block_keys / 16;

 public:
  __device__ __forceinline__ WarpMaths(int lane, int rows)
      : lane_(lane), g_(lane / 4), t_(lane % 4), rows_(rows) {}

  // Where a chunk of a row of Q, K or V is kept: eight rows of one chunk column touch all banks once.
  static constexpr FLASHMOE_HD int place(int row, int chunk) { return chunk ^ (row & 7); }
  // Where columns 4 c to 4 c + 3 of a row of `partial` are kept: lanes that write one column of eight of the
  // rows 2 t + x touch all banks once, and so do lanes that read along a row.
  static constexpr FLASHMOE_HD int place_partial(int row, int c) { return c ^ (row >> 1 & 3) << 1; }

  // Starts the copy of Q. q_row: from a packed row to its first element.
  template <class Rows>
  __device__ __forceinline__ void copy_q(Rows q_row, int head_dim, gpu::Chunk (*to)[kDim / 8]) const {
    const bool real = g_ < rows_;
    const T* from = q_row(real ? g_ : 0);
#pragma unroll
    for (int c = t_; c < kDim / 8; c += 4) {
      gpu::cp_async_16(gpu::shared_address(&to[g_][place(g_, c)]), from + 8 * c, real && 8 * c < head_dim);
    }
  }

  __device__ __forceinline__ void take_q(const gpu::Chunk (*q)[kDim / 8]) {
    const int row = lane_ % 8;
#pragma unroll
    for (int c = 0; c < kDim / 8; c += 4) {
      uint32_t four[4];
      gpu::ldmatrix_x4(four, gpu::shared_address(&q[row][place(row, c + lane_ / 8)]));
#pragma unroll
      for (int i = 0; i < 4; ++i) q_[c + i] = four[i];
    }
  }

  __device__ __forceinline__ void scores(int step, const gpu::Chunk (*k)[kDim / 8]) {
    // With few warps on an SM, two sums side by side halve the wait for each other.
    constexpr int kSums = Spec::tuning.warps <= 4 ? 2 : 1;
    float sums[kSums][4];
#pragma unroll
    for (auto& sum : sums) sum[0] = sum[1] = sum[2] = sum[3] = 0.0F;
    const int row = lane_ % 16;
#pragma unroll
    for (int c = 0; c < kDim / 8; c += 2) {
      uint32_t a[4];
      gpu::ldmatrix_x4(a, gpu::shared_address(&k[row][place(row, c + lane_ / 16)]));
      gpu::mma_m16n8k16<T>(sums[c / 2 % kSums], a, q_[c], q_[c + 1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) S_[step][i] = kSums == 2 ? sums[0][i] + sums[kSums - 1][i] : sums[0][i];
  }

  // Makes weights of the scores of one block of keys that begins at `first`. row_sees: from a packed row to
  // the keys it sees, asked for where there is something to mask.
  template <class Sees>
  __device__ __forceinline__ void absorb(float scale_log2e, bool mask, int first, Sees row_sees) {
    if (mask) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int seen = row_sees(2 * t_ + x < rows_ ? 2 * t_ + x : 0) - first - g_;
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int key = s * Spec::tuning.keys_to_next();
          if (key >= seen) S_[s][x] = -INFINITY;
          if (key + 8 >= seen) S_[s][x + 2] = -INFINITY;
        }
      }
    }
    float base[2];
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      float largest = fmaxf(S_[0][x], S_[0][x + 2]);
#pragma unroll
      for (int s = 1; s < kSteps; ++s) largest = fmaxf(largest, fmaxf(S_[s][x], S_[s][x + 2]));
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes *= 2) largest = fmaxf(largest, gpu::shuffle_xor(largest, lanes));
      largest = gpu::mul_rn(largest, scale_log2e);
      const float before = m_[x];
      m_[x] = Spec::tuning.once ? largest : fmaxf(before, largest);
      base[x] = m_[x] == -INFINITY ? 0.0F : m_[x];
      if constexpr (!Spec::tuning.once) rescale(x, gpu::ex2(before - base[x]));
    }
    // Products are rounded before the maximum is subtracted: however large, it then meets itself.
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float even = gpu::ex2(gpu::mul_rn(S_[s][2 * half], scale_log2e) - base[0]);
        const float odd = gpu::ex2(gpu::mul_rn(S_[s][2 * half + 1], scale_log2e) - base[1]);
        l_[0] += even;
        l_[1] += odd;
        P_[s][half] = gpu::movmatrix_trans(gpu::pack<T>(even, odd));
      }
    }
  }

  __device__ __forceinline__ void outputs(int step, const gpu::Chunk (*v)[kDim / 8]) {
    const int row = lane_ % 8 + lane_ / 16 * 8;
#pragma unroll
    for (int c = 0; c < kDim / 8; c += 2) {
      uint32_t a[4];
      gpu::ldmatrix_x4_trans(a, gpu::shared_address(&v[row][place(row, c + lane_ / 8 % 2)]));
      gpu::mma_m16n8k16<T>(O_[c / 2], a, P_[step][0], P_[step][1]);
    }
  }

  // Tells the warp's result to the block.
  __device__ __forceinline__ void publish(int warp, Smem<Spec>& smem) {
#pragma unroll
    for (int x = 0; x < 2; ++x) {
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes *= 2) l_[x] += gpu::shuffle_xor(l_[x], lanes);
      if (g_ == 0 && 2 * t_ + x < rows_) smem.stats[2 * t_ + x][warp] = {m_[x], l_[x]};
    }
    gpu::sync_warp();  // every lane is done with the ring: its place takes the partial output
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const int row = 2 * t_ + x;
      if (row >= rows_) continue;
      // Of 32 columns this lane has four, 8 apart. Their places repeat 32 columns on.
      auto* to = &smem.warp[warp].partial[row][0].x;
#pragma unroll
      for (int four = 0; four < 4; ++four) {
        float* first = to + 4 * place_partial(row, 2 * four + g_ / 4) + g_ % 4;
#pragma unroll
        for (int i = 0; i < kDim / 32; ++i) first[32 * i] = O_[2 * i + four / 2][x + four % 2 * 2];
      }
    }
  }

 private:
  __device__ __forceinline__ void rescale(int x, float factor) {
    l_[x] *= factor;
#pragma unroll
    for (auto& tile : O_) {
      tile[x] *= factor;
      tile[x + 2] *= factor;
    }
  }

  int lane_, g_, t_, rows_;
  uint32_t q_[kDim / 8];   // of row g the elements 8 c + 2 t and the next
  float S_[kSteps][4];     // scores of the block of keys at hand
  uint32_t P_[kSteps][2];  // their weights
  float O_[kDim / 16][4] = {};
  float m_[2] = {-INFINITY, -INFINITY};  // in units of log2
  float l_[2] = {0, 0};
};

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET

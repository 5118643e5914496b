// SPDX-License-Identifier: MIT
// The arithmetic of one warp of decode_forward, with fragments by plain 16-byte loads: the products of
// eight_rows.cuh.
#pragma once

#include <cmath>

#include "kernels/decode_forward/smem.h"
#include "kernels/eight_rows.cuh"
#include "primitives/barrier.h"
#include "primitives/convert.h"
#include "primitives/math.h"
#include "primitives/memory.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

// Lane (g, t) keeps row g's maximum and a share of its sum; O as add_p_v leaves it.
// Invariant: m is -inf only while the row has seen no key; then l and O are 0.
template <class Spec>
class ByLane {
  using T = typename Spec::Element;
  static constexpr int kDim = Spec::tuning.head_dim;
  static constexpr int kTiles = Spec::tuning.block_keys / 8;

 public:
  __device__ __forceinline__ ByLane(int lane, int rows) : g_(lane / 4), t_(lane % 4), rows_(rows) {}

  static constexpr FLASHMOE_HD int place_k(int row, int chunk) { return k_place(row, chunk); }
  static constexpr FLASHMOE_HD int place_v(int row, int chunk) { return v_place(row, chunk); }
  // Where columns 4 c to 4 c + 3 of a row of `partial` are kept: written as (row 2 t + x, c = 2 g + h), read
  // along a row, and all banks are touched once either way.
  static constexpr FLASHMOE_HD int place_partial(int row, int c) {
    return c ^ ((row >> 1 & 1) | (row >> 2 & 1) << 2);
  }

  // q_row: from a packed row to its first element.
  template <class Rows>
  __device__ __forceinline__ void load_q(Rows q_row, int head_dim) {
    const bool real = g_ < rows_;
    const T* from = q_row(real ? g_ : 0);
#pragma unroll
    for (int j = 0; j < kDim / 32; ++j) {
      const int column = 32 * j + 8 * t_;
      q_[j] = real && column < head_dim ? gpu::load_global(reinterpret_cast<const gpu::Chunk*>(from + column))
                                        : gpu::Chunk{0, 0, 0, 0};
    }
  }

  // row_sees: from a packed row to the keys it sees.
  template <class Sees>
  __device__ __forceinline__ void look(Sees row_sees) {
    sees_ = row_sees(g_ < rows_ ? g_ : 0);
  }

  __device__ __forceinline__ void scores(int step, const gpu::Chunk (*k)[kDim / 8]) {
    multiply_q_k<T, kDim>(q_, k, g_, t_, S_[step]);
  }

  // Makes weights of the scores of one block of keys that begins at `first`.
  __device__ __forceinline__ void absorb(float scale_log2e, bool mask, int first) {
    if (mask) {
      const int seen = sees_ - first - 2 * t_;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const int key = n / 2 * Spec::tuning.keys_to_next() + n % 2 * 8;
        if (key >= seen) score(n, 0) = -INFINITY;
        if (key + 1 >= seen) score(n, 1) = -INFINITY;
      }
    }
    float largest = fmaxf(score(0, 0), score(0, 1));
#pragma unroll
    for (int n = 1; n < kTiles; ++n) largest = fmaxf(largest, fmaxf(score(n, 0), score(n, 1)));
    largest = fmaxf(largest, gpu::shuffle_xor(largest, 1));
    largest = fmaxf(largest, gpu::shuffle_xor(largest, 2));
    largest *= scale_log2e;

    const float before = m_;
    m_ = Spec::tuning.once ? largest : fmaxf(m_, largest);
    const float base = m_ == -INFINITY ? 0.0F : m_;
    if constexpr (!Spec::tuning.once) rescale(gpu::ex2(before - base));
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const float p0 = gpu::ex2(fmaf(score(n, 0), scale_log2e, -base));
      const float p1 = gpu::ex2(fmaf(score(n, 1), scale_log2e, -base));
      l_ += p0 + p1;
      P_[n] = gpu::pack<T>(p0, p1);
    }
  }

  __device__ __forceinline__ void outputs(int step, const gpu::Chunk (*v)[kDim / 8]) {
    add_p_v<T, kDim>(P_[2 * step], P_[2 * step + 1], v, g_, t_, O_);
  }

  // Tells the warp's result to the block.
  __device__ __forceinline__ void publish(int warp, Smem<Spec>& smem) {
    l_ += gpu::shuffle_xor(l_, 1);
    l_ += gpu::shuffle_xor(l_, 2);
    if (t_ == 0 && g_ < rows_) smem.stats[g_][warp] = {m_, l_};
    gpu::sync_warp();  // every lane is done with the ring: its place takes the partial output
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const int row = 2 * t_ + x;
      if (row >= rows_) continue;
#pragma unroll
      for (int i = 0; i < kDim / 16; i += 2) {
        const int c = 16 * (i / 4) + 2 * g_ + i / 2 % 2;
        smem.warp[warp].partial[row][place_partial(row, c)] = {O_[i][x], O_[i][x + 2], O_[i + 1][x],
                                                               O_[i + 1][x + 2]};
      }
    }
  }

 private:
  __device__ __forceinline__ float& score(int tile, int i) { return S_[tile / 2][tile % 2][i]; }

  // Row g's factor is here; O has rows 2 t and 2 t + 1.
  __device__ __forceinline__ void rescale(float factor) {
    l_ *= factor;
    const float even = gpu::shuffle(factor, 8 * t_);
    const float odd = gpu::shuffle(factor, 8 * t_ + 4);
#pragma unroll
    for (auto& tile : O_) {
      tile[0] *= even;
      tile[1] *= odd;
      tile[2] *= even;
      tile[3] *= odd;
    }
  }

  int g_, t_, rows_;
  int sees_ = 0;  // keys that row g sees
  gpu::Chunk q_[kDim / 32];
  float S_[kTiles / 2][2][4];  // scores of the block of keys at hand
  uint32_t P_[kTiles];         // their weights
  float O_[kDim / 16][4] = {};
  float m_ = -INFINITY;  // in units of log2
  float l_ = 0;
};

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET

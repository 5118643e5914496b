// SPDX-License-Identifier: MIT
// The problem that every rung solves: out = softmax(q k^T / sqrt(D)) v, fp16, dense [B, H, S, D] with D = 64.
#pragma once

#include <cmath>

#include "gpu.cuh"

constexpr int kHeadDim = 64;
constexpr int kChunks = kHeadDim / 8;  // 16-byte pieces of a row

struct Problem {
  const __half* q;
  const __half* k;
  const __half* v;
  __half* out;
  int rows;           // S
  float scale_log2e;  // log2(e) / sqrt(D): exponentials are powers of two
};

inline Problem make_problem(const void* q, const void* k, const void* v, void* out, int S) {
  return {static_cast<const __half*>(q),
          static_cast<const __half*>(k),
          static_cast<const __half*>(v),
          static_cast<__half*>(out),
          S,
          1.442695040888963F / std::sqrt(static_cast<float>(kHeadDim))};
}

// This block's head.
__device__ __forceinline__ Problem head_of(Problem p) {
  const size_t offset = static_cast<size_t>(blockIdx.y) * p.rows * kHeadDim;
  return {p.q + offset, p.k + offset, p.v + offset, p.out + offset, p.rows, p.scale_log2e};
}

inline int blocks_for(int rows, int rows_per_block) { return (rows + rows_per_block - 1) / rows_per_block; }

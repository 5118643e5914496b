// SPDX-License-Identifier: MIT
// Where the climb starts: one thread per query row, ROWS of them in a block. With 64 rows a block, S = 128
// makes 2 blocks: 2 of the GPU's 132 multiprocessors have work.
#include "problem.cuh"

#ifndef ROWS
#define ROWS 64
#endif

__global__ void attend(Problem all) {
  const Problem p = head_of(all);
  const int row = static_cast<int>(blockIdx.x) * ROWS + static_cast<int>(threadIdx.x);
  if (row >= p.rows) return;
  float O[kHeadDim] = {};
  float m = -INFINITY, l = 0;
  for (int key = 0; key < p.rows; ++key) {
    float dot = 0;
#pragma unroll
    for (int d = 0; d < kHeadDim; ++d) {
      dot += __half2float(p.q[row * kHeadDim + d]) * __half2float(p.k[key * kHeadDim + d]);
    }
    const float score = dot * p.scale_log2e;
    const float now = fmaxf(m, score);
    const float keep = exp2f(m - now), weight = exp2f(score - now);
    l = l * keep + weight;
#pragma unroll
    for (int d = 0; d < kHeadDim; ++d) {
      O[d] = O[d] * keep + weight * __half2float(p.v[key * kHeadDim + d]);
    }
    m = now;
  }
#pragma unroll
  for (int d = 0; d < kHeadDim; ++d) p.out[row * kHeadDim + d] = __float2half(O[d] / l);
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  return launch(&attend, blocks_for(S, ROWS), B * H, ROWS, 0, stream, make_problem(q, k, v, out, S));
}

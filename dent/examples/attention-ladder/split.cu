// SPDX-License-Identifier: MIT
// Parallelism: a warp per query row and part of the keys. WARP_ROWS rows a block, the keys of each in
// KV_SPLITS parts; the parts of a row meet in shared memory.
#include "problem.cuh"

#ifndef WARP_ROWS
#define WARP_ROWS 4
#endif
#ifndef KV_SPLITS
#define KV_SPLITS 1
#endif

struct Part {
  float m, l;  // maximum of the scores, sum of exp2(score - m)
  float O[kHeadDim];
};
struct Smem {
  Part parts[WARP_ROWS][KV_SPLITS];
};

__device__ float dot(const __half* a, const __half* b) {
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const uint4 x = reinterpret_cast<const uint4*>(a)[c], y = reinterpret_cast<const uint4*>(b)[c];
    const uint32_t xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 u = unpack(xs[i]), w = unpack(ys[i]);
      sum += u.x * w.x + u.y * w.y;
    }
  }
  return sum;
}

__device__ float largest_in_warp(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, step));
  return x;
}
__device__ float sum_in_warp(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kWholeWarp, x, step);
  return x;
}

__global__ void __launch_bounds__(32 * WARP_ROWS * KV_SPLITS) attend(Problem all) {
  const Problem p = head_of(all);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int split = warp % KV_SPLITS;
  const int row = static_cast<int>(blockIdx.x) * WARP_ROWS + warp / KV_SPLITS;
  const __half* query = p.q + (row < p.rows ? row : 0) * kHeadDim;

  float m = -INFINITY, l = 0, even = 0, odd = 0;  // columns 2 lane and 2 lane + 1 of the output
  for (int first = 32 * split; first < p.rows; first += 32 * KV_SPLITS) {
    const int key = first + lane;
    const float score = key < p.rows ? dot(query, p.k + key * kHeadDim) * p.scale_log2e : -INFINITY;
    const float now = fmaxf(m, largest_in_warp(score));
    const float keep = ex2(m - now), weight = ex2(score - now);
    l = l * keep + sum_in_warp(weight);
    even *= keep;
    odd *= keep;
    const int keys = p.rows - first < 32 ? p.rows - first : 32;
#pragma unroll 8
    for (int i = 0; i < keys; ++i) {
      const float w = __shfl_sync(kWholeWarp, weight, i);
      const float2 value = unpack(reinterpret_cast<const uint32_t*>(p.v + (first + i) * kHeadDim)[lane]);
      even += w * value.x;
      odd += w * value.y;
    }
    m = now;
  }

  auto& parts = shared<Smem>().parts[warp / KV_SPLITS];
  if (lane == 0) {
    parts[split].m = m;
    parts[split].l = l;
  }
  parts[split].O[2 * lane] = even;
  parts[split].O[2 * lane + 1] = odd;
  __syncthreads();
  if (split != 0 || row >= p.rows) return;
  for (int i = 1; i < KV_SPLITS; ++i) m = fmaxf(m, parts[i].m);
  l = even = odd = 0;
  for (int i = 0; i < KV_SPLITS; ++i) {
    const float weight = ex2(parts[i].m - m);  // 0 for a part without keys
    l += weight * parts[i].l;
    even += weight * parts[i].O[2 * lane];
    odd += weight * parts[i].O[2 * lane + 1];
  }
  reinterpret_cast<uint32_t*>(p.out + row * kHeadDim)[lane] = pack(even / l, odd / l);
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  return launch(&attend, blocks_for(S, WARP_ROWS), B * H, 32 * WARP_ROWS * KV_SPLITS, sizeof(Smem), stream,
                make_problem(q, k, v, out, S));
}

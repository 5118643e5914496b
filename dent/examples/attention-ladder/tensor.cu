// SPDX-License-Identifier: MIT
// Tensor cores: 16 query rows a block, WARPS warps share the keys, 16 at a time. Operands come straight from
// global memory, in the small pieces that the matrix instruction wants.
#include "rows16.cuh"

#ifndef WARPS
#define WARPS 2
#endif

constexpr int kKeys = 16;  // of one step

__device__ __forceinline__ uint32_t pair_of_rows(const __half* v, int key, int last, int column) {
  const auto bits = [&](int row) {
    return static_cast<uint32_t>(
        reinterpret_cast<const uint16_t*>(v)[(row < last ? row : last) * kHeadDim + column]);
  };
  return bits(key) | bits(key + 1) << 16;
}

__global__ void __launch_bounds__(32 * WARPS) attend(Problem all) {
  const Problem p = head_of(all);
  const Lane lane;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_row = static_cast<int>(blockIdx.x) * 16, last = p.rows - 1;
  const Queries queries(p, first_row, lane);
  Rows16 part;

  for (int first = kKeys * warp; first < p.rows; first += kKeys * WARPS) {
    float S[kKeys / 8][4] = {};
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      const int key = first + 8 * n + lane.g;
      const auto* k = reinterpret_cast<const uint32_t*>(p.k + (key < last ? key : last) * kHeadDim);
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; ++step) {
        mma(S[n], queries.a[step], k[8 * step + lane.t], k[8 * step + lane.t + 4]);
      }
    }
    uint32_t P[kKeys / 8][2];
    part.absorb(S, p.rows - first, p.scale_log2e, lane, P);
    const uint32_t a[4] = {P[0][0], P[0][1], P[1][0], P[1][1]};
#pragma unroll
    for (int n = 0; n < kHeadDim / 8; ++n) {
      const int key = first + 2 * lane.t, column = 8 * n + lane.g;
      mma(part.O[n], a, pair_of_rows(p.v, key, last, column), pair_of_rows(p.v, key + 8, last, column));
    }
  }

  auto& meeting = shared<Meeting<WARPS>>();
  meeting.bring(part, warp, lane);
  __syncthreads();
  meeting.store(p, first_row);
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  return launch(&attend, blocks_for(S, 16), B * H, 32 * WARPS, sizeof(Meeting<WARPS>), stream,
                make_problem(q, k, v, out, S));
}

// SPDX-License-Identifier: MIT
// Attention for 16 query rows by tensor cores, as both rungs need it that take 16 rows a block: what a warp
// knows of its keys so far, and the merge of the warps that shared the keys. Lane 4 g + t holds rows g and g
// + 8.
#pragma once

#include "problem.cuh"

struct Lane {
  int g = static_cast<int>(threadIdx.x) % 32 / 4;
  int t = static_cast<int>(threadIdx.x) % 4;
};

// Query rows as operand A of the scores: column pairs 16 step + 2 t and 16 step + 2 t + 8. Rows past the last
// are read from row 0; nobody stores what comes out of them.
struct Queries {
  uint32_t a[kHeadDim / 16][4];

  __device__ Queries(const Problem& p, int first_row, Lane lane) {
    const int row = first_row + lane.g < p.rows ? first_row + lane.g : 0;
    const int other = first_row + lane.g + 8 < p.rows ? first_row + lane.g + 8 : 0;
    const auto* upper = reinterpret_cast<const uint32_t*>(p.q + row * kHeadDim);
    const auto* lower = reinterpret_cast<const uint32_t*>(p.q + other * kHeadDim);
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      a[step][0] = upper[8 * step + lane.t];
      a[step][1] = lower[8 * step + lane.t];
      a[step][2] = upper[8 * step + lane.t + 4];
      a[step][3] = lower[8 * step + lane.t + 4];
    }
  }
};

struct Rows16 {
  float m[2] = {-INFINITY, -INFINITY};  // of rows g and g + 8
  float l[2] = {};                      // sums over this lane's keys alone, until finish()
  float O[kHeadDim / 8][4] = {};        // tile n: columns 8 n + 2 t and the next

  // Takes the scores of kTiles x 8 keys (tile n: keys 8 n + 2 t and the next), of which `keys` exist: updates
  // m and l, rescales O and leaves the weights as operand A of P V.
  template <int kTiles>
  __device__ __forceinline__ void absorb(float (&S)[kTiles][4], int keys, float scale_log2e, Lane lane,
                                         uint32_t (&P)[kTiles][2]) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        S[n][i] = 8 * n + 2 * lane.t + i % 2 < keys ? S[n][i] * scale_log2e : -INFINITY;
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float now = m[half];
#pragma unroll
      for (int n = 0; n < kTiles; ++n) now = fmaxf(now, fmaxf(S[n][2 * half], S[n][2 * half + 1]));
      now = fmaxf(now, __shfl_xor_sync(kWholeWarp, now, 1));
      now = fmaxf(now, __shfl_xor_sync(kWholeWarp, now, 2));
      const float keep = ex2(m[half] - now);
      m[half] = now;
      l[half] *= keep;
#pragma unroll
      for (auto& tile : O) {
        tile[2 * half] *= keep;
        tile[2 * half + 1] *= keep;
      }
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const float first = ex2(S[n][2 * half] - now), second = ex2(S[n][2 * half + 1] - now);
        l[half] += first + second;
        P[n][half] = pack(first, second);
      }
    }
  }
};

// Where the warps that shared the keys meet.
template <int kWarps>
struct Meeting {
  float m[kWarps][16], l[kWarps][16];
  float O[kWarps][16][kHeadDim + 8];  // the 8 keep the lanes of a warp in different banks

  __device__ __forceinline__ void bring(const Rows16& part, int warp, Lane lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane.g + 8 * half;
      float sum = part.l[half];
      sum += __shfl_xor_sync(kWholeWarp, sum, 1);
      sum += __shfl_xor_sync(kWholeWarp, sum, 2);
      if (lane.t == 0) {
        m[warp][row] = part.m[half];
        l[warp][row] = sum;
      }
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n) {
        *reinterpret_cast<float2*>(&O[warp][row][8 * n + 2 * lane.t]) =
            float2{part.O[n][2 * half], part.O[n][2 * half + 1]};
      }
    }
  }

  // After a __syncthreads(): each thread merges and stores pairs of columns.
  __device__ __forceinline__ void store(const Problem& p, int first_row) const {
    for (int pair = static_cast<int>(threadIdx.x); pair < 16 * kHeadDim / 2; pair += 32 * kWarps) {
      const int row = pair / (kHeadDim / 2), column = 2 * (pair % (kHeadDim / 2));
      if (first_row + row >= p.rows) return;
      float largest = m[0][row];
#pragma unroll
      for (int w = 1; w < kWarps; ++w) largest = fmaxf(largest, m[w][row]);
      float sum = 0, even = 0, odd = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float weight = ex2(m[w][row] - largest);  // 0 for a warp without keys
        const float2 o = *reinterpret_cast<const float2*>(&O[w][row][column]);
        sum += weight * l[w][row];
        even += weight * o.x;
        odd += weight * o.y;
      }
      reinterpret_cast<uint32_t*>(p.out + (first_row + row) * kHeadDim)[column / 2] =
          pack(even / sum, odd / sum);
    }
  }
};

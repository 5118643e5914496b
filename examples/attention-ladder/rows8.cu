// SPDX-License-Identifier: MIT
// Latency: 8 query rows a block, so twice the blocks with half the work each, and every step as short as it
// can be.
//
// Two liberties pay for it. The order of a contraction is free, so a lane feeds 8 consecutive elements of a
// row to two matrix instructions: operands of the scores are 16-byte loads. And O^T = V^T P^T takes the
// scores as they lie in the accumulators as its operand B, and leaves each lane with 8 consecutive output
// columns.
#include "problem.cuh"

#ifndef WARPS
#define WARPS 2
#endif
#ifndef KEYS
#define KEYS 16
#endif
#ifndef STAGES
#define STAGES 2
#endif
static_assert(KEYS % 16 == 0);

constexpr int kRows = 8;
constexpr int kUnits = 4;  // the output of 8 rows is kUnits x 32 lanes x 4 columns

struct Tile {
  uint4 k[KEYS][kChunks], v[KEYS][kChunks];
};
struct Smem {
  union Warp {
    Tile ring[STAGES];
    float4 O[kUnits][32];  // once all tiles have been used
  } warp[WARPS];
  float2 ml[kRows][WARPS];
};

// Where chunk c of row r lies. K is read as (row g, chunk t + 4 j), V as (row 2 t, chunk g): eight lanes
// together touch all banks once.
__device__ __forceinline__ int k_place(int row, int chunk) { return chunk ^ (row & 1) << 2; }
__device__ __forceinline__ int v_place(int row, int chunk) { return chunk ^ (row >> 1 & 3) << 1; }

template <class Place>
__device__ __forceinline__ void copy_rows(const __half* from, int first, int rows, uint4 (*to)[kChunks],
                                          Place place) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int chunk = lane % kChunks;
#pragma unroll
  for (int i = 0; i < KEYS; i += 32 / kChunks) {
    const int row = i + lane / kChunks;
    const bool there = first + row < rows;
    copy_async(&to[row][place(row, chunk)], from + (there ? first + row : 0) * kHeadDim + 8 * chunk, there);
  }
}

__global__ void __launch_bounds__(32 * WARPS, 1) attend(Problem all) {
  const Problem p = head_of(all);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int g = lane / 4, t = lane % 4;
  const int first_row = static_cast<int>(blockIdx.x) * kRows;
  auto& smem = shared<Smem>();
  auto& own = smem.warp[warp];

  constexpr int kStride = KEYS * WARPS;  // from one tile of a warp to its next
  const int start = KEYS * warp;
  const auto copy = [&](int first,
                        Tile& tile) {  // two groups, also where there is nothing left: waits count them
    if (first < p.rows) copy_rows(p.k, first, p.rows, tile.k, k_place);
    end_copy_group();
    if (first < p.rows) copy_rows(p.v, first, p.rows, tile.v, v_place);
    end_copy_group();
  };
#pragma unroll
  for (int stage = 0; stage < STAGES; ++stage) copy(start + stage * kStride, own.ring[stage]);

  // Rows past the last are read from row 0; nobody stores what comes out of them.
  const auto* query =
      reinterpret_cast<const uint4*>(p.q + (first_row + g < p.rows ? first_row + g : 0) * kHeadDim);
  const uint4 q[2] = {query[t], query[t + 4]};

  float m = -INFINITY, l = 0;  // of row g; l over this lane's keys alone
  float O[4][4] = {};          // of rows 2 t and 2 t + 1: columns 8 g + 2 j and the next
  int stage = 0;
  for (int first = start; first < p.rows; first += kStride) {
    Tile& tile = own.ring[stage];
    wait_for_copies<2 * STAGES - 1>();
    __syncwarp();
    float S[KEYS / 8][4] = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const uint32_t low[4] = {q[j].x, 0, q[j].y, 0};  // rows 8 to 15 of the instruction stay empty
      const uint32_t high[4] = {q[j].z, 0, q[j].w, 0};
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n) {
        const uint4 k = tile.k[8 * n + g][k_place(g, 4 * j + t)];
        mma(S[n], low, k.x, k.y);
        mma(S[n], high, k.z, k.w);
      }
    }
    if (first + KEYS > p.rows) {
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n) {
        if (first + 8 * n + 2 * t >= p.rows) S[n][0] = -INFINITY;
        if (first + 8 * n + 2 * t + 1 >= p.rows) S[n][1] = -INFINITY;
      }
    }

    float largest = fmaxf(S[0][0], S[0][1]);
#pragma unroll
    for (int n = 1; n < KEYS / 8; ++n) largest = fmaxf(largest, fmaxf(S[n][0], S[n][1]));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
    const float now = fmaxf(m, largest * p.scale_log2e);
    if (first != start) {
      const float keep = ex2(m - now);
      const float keep_even = __shfl_sync(kWholeWarp, keep, 8 * t);  // of row 2 t
      const float keep_odd = __shfl_sync(kWholeWarp, keep, 8 * t + 4);
      l *= keep;
#pragma unroll
      for (auto& tile_o : O) {
        tile_o[0] *= keep_even;
        tile_o[2] *= keep_even;
        tile_o[1] *= keep_odd;
        tile_o[3] *= keep_odd;
      }
    }
    m = now;
    uint32_t P[KEYS / 8];
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
      const float even = ex2(fmaf(S[n][0], p.scale_log2e, -m)), odd = ex2(fmaf(S[n][1], p.scale_log2e, -m));
      l += even + odd;
      P[n] = pack(even, odd);
    }

    wait_for_copies<2 * STAGES - 2>();
    __syncwarp();
#pragma unroll
    for (int s = 0; s < KEYS / 16; ++s) {
      const int row = 16 * s + 2 * t, at = v_place(row, g);  // the same place in all four rows
      const uint4 v0 = tile.v[row][at], v1 = tile.v[row + 1][at];
      const uint4 v8 = tile.v[row + 8][at], v9 = tile.v[row + 9][at];
      const uint32_t first_rows[4][2] = {{v0.x, v1.x}, {v0.y, v1.y}, {v0.z, v1.z}, {v0.w, v1.w}};
      const uint32_t later_rows[4][2] = {{v8.x, v9.x}, {v8.y, v9.y}, {v8.z, v9.z}, {v8.w, v9.w}};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const uint32_t a[4] = {
            low_halves(first_rows[j][0], first_rows[j][1]), high_halves(first_rows[j][0], first_rows[j][1]),
            low_halves(later_rows[j][0], later_rows[j][1]), high_halves(later_rows[j][0], later_rows[j][1])};
        mma(O[j], a, P[2 * s], P[2 * s + 1]);
      }
    }
    if (first + kStride < p.rows) {
      __syncwarp();  // every lane is done with the tile: its place takes a later one
      copy(first + STAGES * kStride, tile);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  l += __shfl_xor_sync(kWholeWarp, l, 1);
  l += __shfl_xor_sync(kWholeWarp, l, 2);
  if (t == 0) smem.ml[g][warp] = float2{m, l};
  wait_for_copies<0>();
  __syncwarp();  // every lane is done with the tiles: their place takes the partial output
#pragma unroll
  for (int unit = 0; unit < kUnits;
       ++unit) {  // row 2 t + unit / 2, columns 8 g + 4 (unit % 2) and the next three
    const int x = unit / 2, j = 2 * (unit % 2);
    own.O[unit][lane] = float4{O[j][x], O[j][x + 2], O[j + 1][x], O[j + 1][x + 2]};
  }
  __syncthreads();

  for (int unit = warp; unit < kUnits; unit += WARPS) {
    const int row = 2 * t + unit / 2;
    float all_m = -INFINITY, all_l = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) all_m = fmaxf(all_m, smem.ml[row][w].x);
    float4 sum{0, 0, 0, 0};
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      const float weight = ex2(smem.ml[row][w].x - all_m);  // 0 for a warp without keys
      const float4 o = smem.warp[w].O[unit][lane];
      all_l = fmaf(weight, smem.ml[row][w].y, all_l);
      sum = {fmaf(weight, o.x, sum.x), fmaf(weight, o.y, sum.y), fmaf(weight, o.z, sum.z),
             fmaf(weight, o.w, sum.w)};
    }
    if (first_row + row >= p.rows) continue;
    const float scale = 1 / all_l;
    *reinterpret_cast<uint2*>(p.out + (first_row + row) * kHeadDim + 8 * g + 4 * (unit % 2)) =
        uint2{pack(sum.x * scale, sum.y * scale), pack(sum.z * scale, sum.w * scale)};
  }
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  return launch(&attend, blocks_for(S, kRows), B * H, 32 * WARPS, sizeof(Smem), stream,
                make_problem(q, k, v, out, S));
}

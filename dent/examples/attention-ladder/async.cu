// SPDX-License-Identifier: MIT
// Memory: as tensor.cu, but each warp copies its keys and values into shared memory with asynchronous 16-byte
// copies, STAGES tiles of KEYS keys ahead, and reads operands from there with matrix loads.
#include "rows16.cuh"

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

struct Tile {
  uint4 k[KEYS][kChunks], v[KEYS][kChunks];
};
union Smem {
  Tile ring[WARPS][STAGES];
  Meeting<WARPS> meeting;  // once all tiles have been used
};

// Where chunk c of row r lies, so that the eight rows of a matrix load touch all banks once.
__device__ __forceinline__ int place(int row, int chunk) { return chunk ^ (row & 7); }

// Starts the copy of KEYS rows from `first` on; rows that don't exist become zeros.
__device__ __forceinline__ void copy_tile(const Problem& p, int first, Tile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int chunk = lane % kChunks;
#pragma unroll
  for (int row = lane / kChunks; row < KEYS; row += 32 / kChunks) {
    const bool there = first + row < p.rows;
    const int from = (there ? first + row : 0) * kHeadDim + 8 * chunk;
    copy_async(&tile.k[row][place(row, chunk)], p.k + from, there);
    copy_async(&tile.v[row][place(row, chunk)], p.v + from, there);
  }
}

__global__ void __launch_bounds__(32 * WARPS) attend(Problem all) {
  const Problem p = head_of(all);
  const Lane lane;
  const int warp = static_cast<int>(threadIdx.x) / 32, index = static_cast<int>(threadIdx.x) % 32;
  const int first_row = static_cast<int>(blockIdx.x) * 16;
  auto& smem = shared<Smem>();
  Tile* ring = smem.ring[warp];

  constexpr int kStride = KEYS * WARPS;  // from one tile of a warp to its next
  const int start = KEYS * warp;
#pragma unroll
  for (int stage = 0; stage < STAGES; ++stage) {
    if (start + stage * kStride < p.rows) copy_tile(p, start + stage * kStride, ring[stage]);
    end_copy_group();
  }
  const Queries queries(p, first_row, lane);
  Rows16 part;

  int stage = 0;
  for (int first = start; first < p.rows; first += kStride) {
    wait_for_copies<STAGES - 1>();
    __syncwarp();
    Tile& tile = ring[stage];
    float S[KEYS / 8][4] = {};
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; step += 2) {  // one load brings operands of two steps
        uint32_t b[4];
        const int row = 8 * n + index % 8;
        load_matrices(b, &tile.k[row][place(row, 2 * step + index / 8)]);
        mma(S[n], queries.a[step], b[0], b[1]);
        mma(S[n], queries.a[step + 1], b[2], b[3]);
      }
    }
    uint32_t P[KEYS / 8][2];
    part.absorb(S, p.rows - first, p.scale_log2e, lane, P);
#pragma unroll
    for (int s = 0; s < KEYS / 16; ++s) {
      const uint32_t a[4] = {P[2 * s][0], P[2 * s][1], P[2 * s + 1][0], P[2 * s + 1][1]};
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; n += 2) {
        uint32_t b[4];
        const int row = 16 * s + index % 16;
        load_matrices_transposed(b, &tile.v[row][place(row, n + index / 16)]);
        mma(part.O[n], a, b[0], b[1]);
        mma(part.O[n + 1], a, b[2], b[3]);
      }
    }
    __syncwarp();  // every lane is done with the tile: its place takes a later one
    if (first + STAGES * kStride < p.rows) copy_tile(p, first + STAGES * kStride, tile);
    end_copy_group();
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  wait_for_copies<0>();
  __syncthreads();  // the meeting takes the place of the tiles
  smem.meeting.bring(part, warp, lane);
  __syncthreads();
  smem.meeting.store(p, first_row);
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  return launch(&attend, blocks_for(S, 16), B * H, 32 * WARPS, sizeof(Smem), stream,
                make_problem(q, k, v, out, S));
}

// SPDX-License-Identifier: MIT
// Latency: 8 query rows a block, so twice the blocks with half the work each, and every step as short as it
// can be.
//
// Two liberties pay for it. The order of a contraction is free, so a lane feeds 8 consecutive elements of a
// row to two matrix instructions: operands of the scores are 16-byte loads. And O^T = V^T P^T takes the
// scores as they lie in the accumulators as its operand B, and leaves each lane with 8 consecutive output
// columns.
//
// With EXACT, lengths that fill one tile per warp get a form of the kernel without a loop and without a bound
// to look at.
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
#ifndef EXACT
#define EXACT 0
#endif

constexpr int kRows = 8;
constexpr int kUnits = 4;  // the output of 8 rows is kUnits x 32 lanes x 4 columns

template <int kKeys>
struct Tile {
  uint4 k[kKeys][kChunks], v[kKeys][kChunks];
};

template <int kWarps_, int kKeys_, int kStages_, bool kExact_>
struct Form {
  static constexpr int kWarps = kWarps_;    // that share the keys
  static constexpr int kKeys = kKeys_;      // of a tile
  static constexpr int kStages = kStages_;  // tiles of a warp in flight
  static constexpr bool kExact = kExact_;   // S is kWarps * kKeys
  static_assert(kKeys % 16 == 0 && (!kExact || kStages == 1));
  static_assert(kWarps == 1 || kWarps % 2 == 0, "a thread's rows of the output follow each other");

  struct Smem {
    union Warp {
      struct {
        Tile<kKeys> ring[kStages];
        uint4 q[2][32];  // each lane's own: of row g chunks t and t + 4
      } in;
      float4 O[kUnits][32];  // once all tiles have been used
    } warp[kWarps];
    float2 ml[kRows][kWarps];
  };
};

// Where chunk c of row r lies. K is read as (row g, chunk t + 4 j), V as (row 2 t, chunk g): eight lanes
// together touch all banks once.
__device__ __forceinline__ unsigned k_place(unsigned row, unsigned chunk) { return chunk ^ (row & 1) << 2; }
__device__ __forceinline__ unsigned v_place(unsigned row, unsigned chunk) {
  return chunk ^ (row >> 1 & 3) << 1;
}

// Starts the copy of kKeys rows from `first` on; rows that don't exist become zeros.
template <class Form, class Place>
__device__ __forceinline__ void copy_rows(const __half* from, unsigned first, unsigned rows,
                                          uint4 (&to)[Form::kKeys][kChunks], Place place) {
  const unsigned row = threadIdx.x % 32 / kChunks, chunk = threadIdx.x % kChunks;
  from += (first + row) * kHeadDim + 8 * chunk;
#pragma unroll
  for (unsigned i = 0; i < Form::kKeys; i += 32 / kChunks) {
    copy_async(&to[i + row][place(i + row, chunk)], from + i * kHeadDim,
               Form::kExact || first + i + row < rows);
  }
}

template <class Form>
__global__ void __launch_bounds__(32 * Form::kWarps, 1) attend(Problem all) {
  constexpr int kWarps = Form::kWarps, kKeys = Form::kKeys, kStages = Form::kStages;
  constexpr int kStride = kKeys * kWarps;  // from one tile of a warp to its next
  if constexpr (Form::kExact) all.rows = kStride;
  const Problem p = head_of(all);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned g = lane / 4, t = lane % 4;
  const unsigned first_row = blockIdx.x * kRows, rows = p.rows;
  auto& smem = shared<typename Form::Smem>();
  auto& own = smem.warp[warp];

  // Q is part of the first group, with K: the scores wait for no other.
  const __half* query = p.q + (first_row + g) * kHeadDim + 8 * t;
  const bool row_there = Form::kExact || first_row + g < rows;
  copy_async(&own.in.q[0][lane], query, row_there);
  copy_async(&own.in.q[1][lane], query + 32, row_there);
  const unsigned start = kKeys * warp;
  const auto copy = [&](unsigned first,
                        Tile<kKeys>& tile) {  // two groups, also where nothing is left: waits count them
    if (Form::kExact || first < rows) copy_rows<Form>(p.k, first, rows, tile.k, k_place);
    end_copy_group();
    if (Form::kExact || first < rows) copy_rows<Form>(p.v, first, rows, tile.v, v_place);
    end_copy_group();
  };
#pragma unroll
  for (unsigned stage = 0; stage < kStages; ++stage) copy(start + stage * kStride, own.in.ring[stage]);

  float m = -INFINITY, l = 0;  // of row g; l over this lane's keys alone
  float O[4][4] = {};          // of rows 2 t and 2 t + 1: columns 8 g + 2 j and the next
  unsigned stage = 0;
  for (unsigned first = start; Form::kExact ? first == start : first < rows; first += kStride) {
    Tile<kKeys>& tile = own.in.ring[stage];
    wait_for_copies<2 * kStages - 1>();
    __syncwarp();
    float S[kKeys / 8][4] = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const uint4 q = own.in.q[j][lane];
      const uint32_t low[4] = {q.x, 0, q.y, 0};  // rows 8 to 15 of the instruction stay empty
      const uint32_t high[4] = {q.z, 0, q.w, 0};
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
        const uint4 k = tile.k[8 * n + g][k_place(g, 4 * j + t)];
        mma(S[n], low, k.x, k.y);
        mma(S[n], high, k.z, k.w);
      }
    }
    if (!Form::kExact && first + kKeys > rows) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
        if (first + 8 * n + 2 * t >= rows) S[n][0] = -INFINITY;
        if (first + 8 * n + 2 * t + 1 >= rows) S[n][1] = -INFINITY;
      }
    }

    float largest = fmaxf(S[0][0], S[0][1]);
#pragma unroll
    for (int n = 1; n < kKeys / 8; ++n) largest = fmaxf(largest, fmaxf(S[n][0], S[n][1]));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
    const float now = fmaxf(m, largest * p.scale_log2e);
    if (first != start) {
      const float keep = ex2(m - now);
      const float keep_even = __shfl_sync(kWholeWarp, keep, 8 * t);  // of row 2 t
      const float keep_odd = __shfl_sync(kWholeWarp, keep, 8 * t + 4);
      l *= keep;
#pragma unroll
      for (auto& columns : O) {
        columns[0] *= keep_even;
        columns[2] *= keep_even;
        columns[1] *= keep_odd;
        columns[3] *= keep_odd;
      }
    }
    m = now;
    uint32_t P[kKeys / 8];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      const float even = ex2(fmaf(S[n][0], p.scale_log2e, -m)), odd = ex2(fmaf(S[n][1], p.scale_log2e, -m));
      l += even + odd;
      P[n] = pack(even, odd);
    }

    wait_for_copies<2 * kStages - 2>();
    __syncwarp();
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s) {
      const unsigned row = 16 * s + 2 * t, at = v_place(row, g);  // the same place in all four rows
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
    if (!Form::kExact && first + kStride < rows) {
      __syncwarp();  // every lane is done with the tile: its place takes a later one
      copy(first + kStages * kStride, tile);
    }
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }

  l += __shfl_xor_sync(kWholeWarp, l, 1);
  l += __shfl_xor_sync(kWholeWarp, l, 2);
  if (t == 0) smem.ml[g][warp] = float2{m, l};
  if (!Form::kExact) wait_for_copies<0>();
  __syncwarp();  // every lane is done with the tiles: their place takes the partial output
#pragma unroll
  for (int unit = 0; unit < kUnits;
       ++unit) {  // row 2 t + unit / 2, columns 8 g + 4 (unit % 2) and the next three
    const int x = unit / 2, j = 2 * (unit % 2);
    own.O[unit][lane] = float4{O[j][x], O[j][x + 2], O[j + 1][x], O[j + 1][x + 2]};
  }
  __syncthreads();

  if (kWarps > kUnits && warp >= kUnits) return;
  const unsigned out_row = 2 * t + warp / 2;
  __half* out = p.out + (first_row + out_row) * kHeadDim + 8 * g + 4 * (warp % 2);
#pragma unroll
  for (unsigned i = 0; i < kUnits; i += kWarps) {  // unit warp + i
    const unsigned row = out_row + i / 2;
    float all_m = -INFINITY, all_l = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) all_m = fmaxf(all_m, smem.ml[row][w].x);
    float4 sum{0, 0, 0, 0};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float weight = ex2(smem.ml[row][w].x - all_m);  // 0 for a warp without keys
      const float4 o = smem.warp[w].O[warp + i][lane];
      all_l = fmaf(weight, smem.ml[row][w].y, all_l);
      sum = {fmaf(weight, o.x, sum.x), fmaf(weight, o.y, sum.y), fmaf(weight, o.z, sum.z),
             fmaf(weight, o.w, sum.w)};
    }
    if (!Form::kExact && first_row + row >= rows) continue;
    const float scale = reciprocal(all_l);
    store(out + i / 2 * kHeadDim + 4 * (i % 2),
          uint2{pack(sum.x * scale, sum.y * scale), pack(sum.z * scale, sum.w * scale)});
  }
}

template <class Form>
cudaError_t start(const Problem& p, int heads, cudaStream_t stream) {
  return launch(&attend<Form>, blocks_for(p.rows, kRows), heads, 32 * Form::kWarps,
                sizeof(typename Form::Smem), stream, p);
}

cudaError_t attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                      cudaStream_t stream) {
  const Problem p = make_problem(q, k, v, out, S);
  const int heads = B * H;
#if EXACT
  if (S == 32) return start<Form<2, 16, 1, true>>(p, heads, stream);
  if (S == 64) return start<Form<4, 16, 1, true>>(p, heads, stream);
  if (S == 128) return start<Form<4, 32, 1, true>>(p, heads, stream);
  if (S == 256) return start<Form<4, 64, 1, true>>(p, heads, stream);
#endif
  return start<Form<WARPS, KEYS, STAGES, false>>(p, heads, stream);
}

// SPDX-License-Identifier: MIT
// Products: the rungs of an SGEMM, tensor cores by wmma, a matrix times a vector, bodies that attract each
// other. Square matrices whose sides are multiples of 128.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include "case.h"

namespace plain {

// Neighbouring threads in neighbouring rows: every load of A goes to 32 sectors.
__global__ void sgemm_by_rows(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.x * 16 + threadIdx.x, column = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}

__global__ void sgemm_by_columns(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}

__global__ void sgemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float A[32][32], B[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int from = 0; from < n; from += 32) {
    A[threadIdx.y][threadIdx.x] = a[row * n + from + threadIdx.x];
    B[threadIdx.y][threadIdx.x] = b[(from + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; ++k) sum = fmaf(A[threadIdx.y][k], B[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A tile of 64 x 64 by 512 threads, 8 results each in a column.
__global__ void sgemm_8_results(const float* a, const float* b, float* c, int n) {
  __shared__ float A[64][8], B[8][64];
  const int t = threadIdx.x, column = t % 64, row = t / 64;
  a += blockIdx.y * 64 * n;
  b += blockIdx.x * 64;
  c += blockIdx.y * 64 * n + blockIdx.x * 64;
  float sums[8] = {};
  for (int from = 0; from < n; from += 8) {
    A[t / 8][t % 8] = a[t / 8 * n + from + t % 8];
    B[row][column] = b[(from + row) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float right = B[k][column];
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] = fmaf(A[row * 8 + i][k], right, sums[i]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) c[(row * 8 + i) * n + column] = sums[i];
}

// A tile of 128 x 128 by 256 threads, 8 x 8 results each. Vectors: A is kept transposed, and both are read
// from shared memory four floats at a time.
template <bool Vectors>
__global__ void __launch_bounds__(256) sgemm_64_results(const float* a, const float* b, float* c, int n) {
  __shared__ __align__(16) float A[8][128], B[8][128];
  const int t = threadIdx.x, column = t % 16 * 8, row = t / 16 * 8;
  a += blockIdx.y * 128 * n;
  b += blockIdx.x * 128;
  c += blockIdx.y * 128 * n + blockIdx.x * 128;
  float sums[8][8] = {}, left[8], right[8];
  for (int from = 0; from < n; from += 8) {
    if constexpr (Vectors) {
      const float4 v = *reinterpret_cast<const float4*>(a + t / 2 * n + from + t % 2 * 4);
      A[t % 2 * 4][t / 2] = v.x;
      A[t % 2 * 4 + 1][t / 2] = v.y;
      A[t % 2 * 4 + 2][t / 2] = v.z;
      A[t % 2 * 4 + 3][t / 2] = v.w;
      *reinterpret_cast<float4*>(&B[t / 32][t % 32 * 4]) =
          *reinterpret_cast<const float4*>(b + (from + t / 32) * n + t % 32 * 4);
    } else {
      for (int i = t; i < 1024; i += 256) {
        A[i % 8][i / 8] = a[i / 8 * n + from + i % 8];
        B[i / 128][i % 128] = b[(from + i / 128) * n + i % 128];
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
#pragma unroll
      for (int i = 0; i < 8; ++i) left[i] = A[k][row + i], right[i] = B[k][column + i];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) c[(row + i) * n + column + j] = sums[i][j];
  }
}

using FragmentA = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
using FragmentB = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major>;
using FragmentC = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

// Four warps a CTA, each with a tile of 16 x 16 straight from global memory.
__global__ void hgemm_from_global(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  const int row = blockIdx.y * 32 + threadIdx.x / 64 * 16,
            column = blockIdx.x * 32 + threadIdx.x / 32 % 2 * 16;
  FragmentC sums;
  fill_fragment(sums, 0.0F);
  for (int k = 0; k < n; k += 16) {
    FragmentA left;
    FragmentB right;
    load_matrix_sync(left, a + row * n + k, n);
    load_matrix_sync(right, b + k * n + column, n);
    mma_sync(sums, left, right, sums);
  }
  store_matrix_sync(c + row * n + column, sums, n, mem_row_major);
}

// A tile of 64 x 64 through shared memory, a quarter of it for each of four warps.
__global__ void hgemm_tiled(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) half A[64][40];
  __shared__ __align__(32) half B[32][72];
  const int t = threadIdx.x, row = t / 64 * 32, column = t / 32 % 2 * 32;
  a += blockIdx.y * 64 * n;
  b += blockIdx.x * 64;
  FragmentC sums[2][2];
  for (auto& line : sums) {
    for (auto& sum : line) fill_fragment(sum, 0.0F);
  }
  for (int from = 0; from < n; from += 32) {
    for (int i = t; i < 256; i += 128) {  // 8 halves each
      *reinterpret_cast<uint4*>(&A[i / 4][i % 4 * 8]) =
          *reinterpret_cast<const uint4*>(a + i / 4 * n + from + i % 4 * 8);
      *reinterpret_cast<uint4*>(&B[i / 8][i % 8 * 8]) =
          *reinterpret_cast<const uint4*>(b + (from + i / 8) * n + i % 8 * 8);
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      FragmentA left[2];
      FragmentB right[2];
      for (int i = 0; i < 2; ++i) {
        load_matrix_sync(left[i], &A[row + 16 * i][k], 40);
        load_matrix_sync(right[i], &B[k][column + 16 * i], 72);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  c += (blockIdx.y * 64 + row) * n + blockIdx.x * 64 + column;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) store_matrix_sync(c + 16 * i * n + 16 * j, sums[i][j], n, mem_row_major);
  }
}

__global__ void gemv_by_warp(const float4* a, const float4* x, float* y, int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < n / 4; i += 32) {
    const float4 u = a[row * (n / 4) + i], v = x[i];
    sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0U, sum, lane);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

__global__ void gemv_by_thread(const float* a, const float* x, float* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = fmaf(a[row * n + i], x[i], sum);
  y[row] = sum;
}

__global__ void attract(const float4* bodies, float4* out, int n) {
  __shared__ float4 tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float4 self = bodies[i];
  float x = 0, y = 0, z = 0;
  for (int from = 0; from < n; from += 256) {
    tile[threadIdx.x] = bodies[from + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 256; ++j) {
      const float dx = tile[j].x - self.x, dy = tile[j].y - self.y, dz = tile[j].z - self.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01F);
      const float force = tile[j].w * inverse * inverse * inverse;
      x += force * dx;
      y += force * dy;
      z += force * dz;
    }
    __syncthreads();
  }
  out[i] = {x, y, z, 0};
}

inline void add_products(Cases& all) {
  for (const int n : {512, 2048}) {
    const auto matrix = std::size_t{4} * n * n;
    const double once = double(matrix), cubed = double(n) * n * n, tiles_of_one = once * n;
    const std::string size = std::to_string(n) + "^3";
    const Memory memory{.a = matrix, .b = matrix, .out = matrix};
    const auto arguments = [=](const Set& s) {
      return std::tuple(s.floats(), s.more_floats(), s.result(), n);
    };
    const auto through_tiles = [&](int tile) { return 2 * tiles_of_one / tile + once; };
    const auto side = [&](int tile) { return dim3(n / tile, n / tile); };
    // A warp is 16 rows by 2 columns of the result: of A it wants 16 sectors a step, each good for 8 steps.
    all.push_back(make("SGEMM, A by columns", size, sgemm_by_rows, side(16), dim3(16, 16), memory,
                       {.bytes = 3 * once,
                        .l2_bytes = through_tiles(16),
                        .l1_bytes = (16 * 4 + 4) * cubed,
                        .flops = 2 * cubed,
                        .trips = n / 16.0},
                       arguments));
    all.push_back(make("SGEMM, a result a thread", size, sgemm_by_columns, side(16), dim3(16, 16), memory,
                       {.bytes = 3 * once,
                        .l2_bytes = through_tiles(16),
                        .l1_bytes = 8 * cubed,
                        .flops = 2 * cubed,
                        .trips = n / 16.0},
                       arguments));
    all.push_back(make("SGEMM, tiles of 32 x 32", size, sgemm_tiled, side(32), dim3(32, 32), memory,
                       {.bytes = 3 * once,
                        .l2_bytes = through_tiles(32),
                        .l1_bytes = 5 * cubed,
                        .flops = 2 * cubed,
                        .trips = n / 32.0,
                        .barriers = n / 16.0},
                       arguments));
    all.push_back(make("SGEMM, 8 results a thread", size, sgemm_8_results, side(64), 512, memory,
                       {.bytes = 3 * once,
                        .l2_bytes = through_tiles(64),
                        .l1_bytes = (1 + 4 / 8.0 + 0.25) * cubed,
                        .flops = 2 * cubed,
                        .trips = n / 8.0,
                        .barriers = n / 4.0},
                       arguments));
    const Work large{.bytes = 3 * once,
                     .l2_bytes = through_tiles(128),
                     .l1_bytes = (1 + 0.125) * cubed,
                     .flops = 2 * cubed,
                     .trips = n / 8.0,
                     .barriers = n / 4.0};
    all.push_back(make("SGEMM, 8 x 8 results a thread", size, sgemm_64_results<false>, side(128), 256, memory,
                       large, arguments));
    all.push_back(make("SGEMM, 8 x 8 results, float4", size, sgemm_64_results<true>, side(128), 256, memory,
                       large, arguments));
    const Memory halves{.a = matrix / 2, .b = matrix / 2, .out = matrix, .values = Values::halves};
    const auto half_arguments = [=](const Set& s) {
      return std::tuple(static_cast<const half*>(s.a), static_cast<const half*>(s.b), s.result(), n);
    };
    // A fragment of 16 x 16 halves is loaded by four loads that go to eight lines each.
    all.push_back(make("HGEMM by wmma, from global memory", size, hgemm_from_global, side(32), 128, halves,
                       {.bytes = 2 * once,
                        .l2_bytes = tiles_of_one / 32 + once,
                        .l1_bytes = 2 * cubed,
                        .matrix_flops = 2 * cubed,
                        .trips = n / 64.0},
                       half_arguments));
    all.push_back(make("HGEMM by wmma, tiles of 64 x 64", size, hgemm_tiled, side(64), 128, halves,
                       {.bytes = 2 * once,
                        .l2_bytes = tiles_of_one / 64 + once,
                        .l1_bytes = 2 * cubed * (2 / 32.0 + 4 / 64.0),
                        .matrix_flops = 2 * cubed,
                        .trips = n / 32.0,
                        .barriers = n / 16.0},
                       half_arguments));
  }
  for (const int n : {2048, 8192}) {
    const auto matrix = std::size_t{4} * n * n;
    const double once = double(matrix), squared = double(n) * n;
    const std::string size = std::to_string(n) + "^2";
    const Memory memory{.a = matrix, .b = std::size_t{4} * n, .out = std::size_t{4} * n};
    all.push_back(make("matrix times vector, a warp a row", size, gemv_by_warp, ceil_div(n, 8), 256, memory,
                       {.bytes = once,
                        .l2_bytes = once,
                        .l1_bytes = 2 * once,
                        .flops = 2 * squared,
                        .trips = std::max(1.0, n / 128.0 / 16)},
                       [=](const Set& s) {
                         return std::tuple(static_cast<const float4*>(s.a), static_cast<const float4*>(s.b),
                                           s.result(), n);
                       }));
    // Each load goes to 32 lines; a sector is good for 8 steps if L1 keeps it.
    all.push_back(make(
        "matrix times vector, a thread a row", size, gemv_by_thread, ceil_div(n, 128), 128, memory,
        {.bytes = once, .l2_bytes = once, .l1_bytes = 33 * once, .flops = 2 * squared, .trips = n / 16.0},
        [=](const Set& s) { return std::tuple(s.floats(), s.more_floats(), s.result(), n); }));
  }
  for (const int n : {8192, 65536}) {
    const auto bytes = std::size_t{16} * n;
    const double pairs = double(n) * n;
    all.push_back(make("bodies that attract each other", std::to_string(n), attract, n / 256, 256,
                       {.a = bytes, .out = bytes},
                       {.bytes = 2.0 * bytes,
                        .l2_bytes = 16 * pairs / 256,
                        .l1_bytes = 4 * pairs,
                        .flops = 19 * pairs,
                        .exps = pairs,
                        .trips = n / 256.0,
                        .barriers = n / 128.0},
                       [=](const Set& s) {
                         return std::tuple(static_cast<const float4*>(s.a), static_cast<float4*>(s.out), n);
                       }));
  }
}

}  // namespace plain

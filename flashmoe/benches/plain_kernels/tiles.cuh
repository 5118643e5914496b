// SPDX-License-Identifier: MIT
// Kernels on grids of points: transposes, stencils, a blur.
#pragma once

#include "case.h"

namespace plain {

constexpr int kTile = 32, kTileRows = 8;

// Reads rows, writes columns: each store of a warp goes to 32 sectors.
__global__ void transpose_by_columns(const float* in, float* out, int n) {
  const int x = blockIdx.x * kTile + threadIdx.x;
  for (int row = threadIdx.y; row < kTile; row += kTileRows) {
    const int y = blockIdx.y * kTile + row;
    out[x * n + y] = in[y * n + x];
  }
}

// Through shared memory; without padding, a column of the tile lies in one bank.
template <int Padding>
__global__ void transpose_tiled(const float* in, float* out, int n) {
  __shared__ float tile[kTile][kTile + Padding];
  for (int row = threadIdx.y; row < kTile; row += kTileRows) {
    tile[row][threadIdx.x] = in[(blockIdx.y * kTile + row) * n + blockIdx.x * kTile + threadIdx.x];
  }
  __syncthreads();
  for (int row = threadIdx.y; row < kTile; row += kTileRows) {
    out[(blockIdx.x * kTile + row) * n + blockIdx.y * kTile + threadIdx.x] = tile[threadIdx.x][row];
  }
}

__global__ void stencil_line(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
#pragma unroll
  for (int d = -4; d <= 4; ++d) sum += 0.11F * in[min(max(i + d, 0), count - 1)];
  out[i] = sum;
}

__global__ void stencil_plane(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  out[i] = 0.5F * in[i] + 0.125F * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

__global__ void stencil_space(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  const int i = (z * n + y) * n + x;
  out[i] =
      0.4F * in[i] + 0.1F * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
}

constexpr int kBlurRadius = 3, kBlurTaps = 2 * kBlurRadius + 1;

__global__ void blur(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kBlurRadius || y < kBlurRadius || x >= n - kBlurRadius || y >= n - kBlurRadius) return;
  float sum = 0;
#pragma unroll
  for (int dy = -kBlurRadius; dy <= kBlurRadius; ++dy) {
#pragma unroll
    for (int dx = -kBlurRadius; dx <= kBlurRadius; ++dx) {
      sum = fmaf(0.02F + 0.001F * static_cast<float>(dx * dy), in[(y + dy) * n + x + dx], sum);
    }
  }
  out[y * n + x] = sum;
}

constexpr int kHalo = kTile + 2 * kBlurRadius;

__global__ void blur_tiled(const float* in, float* out, int n) {
  __shared__ float tile[kHalo][kHalo];
  const int left = blockIdx.x * kTile - kBlurRadius, top = blockIdx.y * kTile - kBlurRadius;
  for (int i = threadIdx.y * kTile + threadIdx.x; i < kHalo * kHalo; i += kTile * kTileRows) {
    const int y = min(max(top + i / kHalo, 0), n - 1), x = min(max(left + i % kHalo, 0), n - 1);
    tile[i / kHalo][i % kHalo] = in[y * n + x];
  }
  __syncthreads();
  for (int row = threadIdx.y; row < kTile; row += kTileRows) {
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < kBlurTaps; ++dy) {
#pragma unroll
      for (int dx = 0; dx < kBlurTaps; ++dx) {
        sum = fmaf(0.02F + 0.001F * static_cast<float>(dx * dy), tile[row + dy][threadIdx.x + dx], sum);
      }
    }
    out[(blockIdx.y * kTile + row) * n + blockIdx.x * kTile + threadIdx.x] = sum;
  }
}

inline void add_tiles(Cases& all) {
  for (const int n : {1024, 4096}) {
    const auto bytes = std::size_t{4} * n * n;
    const double moved = 2.0 * bytes, points = double{1} * n * n;
    const std::string size = std::to_string(n) + " x " + std::to_string(n);
    const Memory memory{.a = bytes, .out = bytes};
    const unsigned tiles = ceil_div(n, kTile);
    const dim3 grid(tiles, tiles), block(kTile, kTileRows);
    const auto arguments = [=](const Set& s) { return std::tuple(s.floats(), s.result(), n); };
    all.push_back(make("transpose, stores by column", size, transpose_by_columns, grid, block, memory,
                       {.bytes = moved, .l2_bytes = 17.0 * bytes, .l1_bytes = 33.0 * bytes}, arguments));
    // A column that lies in one bank is read a word at a time, so each word takes a whole warp's slot.
    all.push_back(make("transpose, tiles with bank conflicts", size, transpose_tiled<0>, grid, block, memory,
                       {.bytes = moved, .l2_bytes = moved, .l1_bytes = 35.0 * bytes, .barriers = 1},
                       arguments));
    all.push_back(make("transpose, padded tiles", size, transpose_tiled<1>, grid, block, memory,
                       {.bytes = moved, .l2_bytes = moved, .l1_bytes = 2 * moved, .barriers = 1}, arguments));
    all.push_back(make("stencil, 9 points of a line", size, stencil_line, ceil_div(int64_t{n} * n, 256), 256,
                       memory,
                       {.bytes = moved, .l2_bytes = moved, .l1_bytes = 10.0 * bytes, .flops = 18 * points},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result(), n * n); }));
    all.push_back(
        make("stencil, 5 points of a plane", size, stencil_plane,
             dim3(ceil_div(n, kTile), ceil_div(n, kTileRows)), block, memory,
             {.bytes = moved, .l2_bytes = moved + 0.5 * bytes, .l1_bytes = 6.0 * bytes, .flops = 6 * points},
             arguments));
    all.push_back(make(
        "blur of 7 x 7", size, blur, dim3(ceil_div(n, kTile), ceil_div(n, kTileRows)), block, memory,
        {.bytes = moved, .l2_bytes = moved + 1.25 * bytes, .l1_bytes = 50.0 * bytes, .flops = 98 * points},
        arguments));
    all.push_back(make("blur of 7 x 7, tiles", size, blur_tiled, grid, block, memory,
                       {.bytes = moved,
                        .l2_bytes = moved + 0.7 * bytes,
                        .l1_bytes = 53.0 * bytes,
                        .flops = 98 * points,
                        .barriers = 1},
                       arguments));
  }
  for (const int n : {128, 384}) {
    const auto bytes = std::size_t{4} * n * n * n;
    all.push_back(make(
        "stencil, 7 points of a space", std::to_string(n) + "^3", stencil_space,
        dim3(ceil_div(n, kTile), ceil_div(n, kTileRows), n), dim3(kTile, kTileRows),
        {.a = bytes, .out = bytes},
        {.bytes = 2.0 * bytes, .l2_bytes = 4.5 * bytes, .l1_bytes = 8.0 * bytes, .flops = 8.0 * n * n * n},
        [=](const Set& s) { return std::tuple(s.floats(), s.result(), n); }));
  }
}

}  // namespace plain

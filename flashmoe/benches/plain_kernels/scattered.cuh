// SPDX-License-Identifier: MIT
// Kernels whose addresses come from data: gathers, scatters, histograms, a sparse product.
#pragma once

#include "case.h"

namespace plain {

__global__ void gather(const float* in, const int* index, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[index[i]];
}

__global__ void scatter(const float* in, const int* index, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[index[i]] = in[i];
}

// Rows of 128 floats, a warp each.
__global__ void gather_rows(const float4* in, const int* index, float4* out, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row < rows) out[row * 32 + lane] = in[index[row] * 32 + lane];
}

constexpr int kBins = 256;

__global__ void histogram_in_shared(const int* values, int* out, int count) {
  __shared__ int bins[kBins];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[values[i]], 1);
  }
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void histogram_in_global(const int* values, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&out[values[i]], 1);
}

constexpr int kNonZeros = 16;  // of a row

// Column indices b, a value of `in` for each, and a dense vector in the front part of `in`.
__global__ void sparse_product(const float* in, const int* columns, float* out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < kNonZeros; ++k) {
    const int i = k * rows + row;  // one after the other: neighbours read neighbours
    sum = fmaf(in[i], in[columns[i]], sum);
  }
  out[row] = sum;
}

inline void add_scattered(Cases& all) {
  for (const int64_t n : {kMillion, 16 * kMillion}) {
    const auto bytes = static_cast<std::size_t>(4 * n);
    const double once = double(bytes);
    const int count = static_cast<int>(n);
    // Where the table is larger than the L2 cache, 64 bytes come for each element.
    const double table = bytes > (30U << 20) ? 16 * once : once;
    const Memory memory{.a = bytes, .b = bytes, .out = bytes, .indices_below = count};
    const auto arguments = [=](const Set& s) {
      return std::tuple(s.floats(), s.indices(), s.result(), count);
    };
    const std::string size = megabytes(3 * once);
    all.push_back(make("gather of floats", size, gather, ceil_div(n, 256), 256, memory,
                       {.bytes = 2 * once + table, .l2_bytes = 10 * once, .l1_bytes = 34 * once, .trips = 2},
                       arguments));
    all.push_back(
        make("scatter of floats", size, scatter, ceil_div(n, 256), 256, memory,
             {.bytes = 2 * once + 2 * table, .l2_bytes = 18 * once, .l1_bytes = 34 * once, .trips = 1},
             arguments));
    const int rows = count / 128;
    all.push_back(make(
        "gather of rows of 512 bytes", megabytes(2 * once), gather_rows, ceil_div(rows, 8), 256,
        {.a = bytes, .b = std::size_t{4} * rows, .out = bytes, .indices_below = rows},
        {.bytes = 2 * once, .l2_bytes = 2 * once, .l1_bytes = 2 * once, .trips = 2}, [=](const Set& s) {
          return std::tuple(static_cast<const float4*>(s.a), s.indices(), static_cast<float4*>(s.out), rows);
        }));
    const Memory binned{.b = bytes, .out = 4 * kBins, .indices_below = kBins};
    const auto into_bins = [=](const Set& s) {
      return std::tuple(s.indices(), static_cast<int*>(s.out), count);
    };
    all.push_back(make("histogram, 256 bins in shared memory", megabytes(once), histogram_in_shared, 132 * 8,
                       kBins, binned,
                       {.bytes = once,
                        .l2_bytes = once,
                        .l1_bytes = 5 * once,
                        .trips = double(n) / (132 * 8 * 256),
                        .barriers = 2},
                       into_bins));
    all.push_back(make("histogram, 256 bins in global memory", megabytes(once), histogram_in_global,
                       ceil_div(n, 256), 256, binned,
                       {.bytes = once, .l2_bytes = 9 * once, .l1_bytes = 9 * once}, into_bins));
    const int sparse_rows = count / kNonZeros;
    all.push_back(
        make("sparse product, 16 a row", megabytes(2 * once), sparse_product, ceil_div(sparse_rows, 128), 128,
             {.a = bytes, .b = bytes, .out = std::size_t{4} * sparse_rows, .indices_below = sparse_rows},
             {.bytes = 2 * once,
              .l2_bytes = 10 * once,
              .l1_bytes = 34 * once,
              .flops = 2.0 * n,
              .trips = 2 * kNonZeros / 4.0},
             [=](const Set& s) { return std::tuple(s.floats(), s.indices(), s.result(), sparse_rows); }));
  }
}

}  // namespace plain

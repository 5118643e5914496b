// SPDX-License-Identifier: MIT
// Kernels that bring elements together: sums, scans, softmax, norms, a sort.
#pragma once

#include <cfloat>

#include "case.h"

namespace plain {

__device__ float warp_sum(float v) {
  for (int lane = 16; lane > 0; lane /= 2) v += __shfl_xor_sync(~0U, v, lane);
  return v;
}

__device__ float warp_max(float v) {
  for (int lane = 16; lane > 0; lane /= 2) v = fmaxf(v, __shfl_xor_sync(~0U, v, lane));
  return v;
}

// Of all threads of a CTA, for all of them.
template <class Combine>
__device__ float cta_reduce(float v, Combine combine) {
  __shared__ float of_warps[32];
  v = combine(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = v;
  __syncthreads();
  return combine(of_warps[threadIdx.x % 32 % (blockDim.x / 32)]);
}

__device__ float cta_max(float v) {
  return cta_reduce(v, [](float x) { return warp_max(x); });
}

// Each warp's sum is read by several lanes where there are fewer than 32 warps.
__device__ float cta_sum(float v) {
  return cta_reduce(v, [](float x) { return warp_sum(x); }) * (blockDim.x / 1024.0F);
}

__global__ void sum_by_atomics(const float4* in, float* out, int count) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  sum = cta_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void sum_by_tree(const float* in, float* out) {
  __shared__ float parts[256];
  parts[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

__global__ void dot(const float* x, const float* y, float* out, int count) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    sum = fmaf(x[i], y[i], sum);
  }
  sum = cta_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void row_sum_by_warp(const float* in, float* out, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  float sum = 0;
  for (int x = threadIdx.x % 32; x < columns; x += 32) sum += in[row * columns + x];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) out[row] = sum;
}

__global__ void row_sum_by_cta(const float* in, float* out, int columns) {
  float sum = 0;
  for (int x = threadIdx.x; x < columns; x += blockDim.x) sum += in[blockIdx.x * columns + x];
  sum = cta_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void column_sum(const float* in, float* out, int rows, int columns) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= columns) return;
  float sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[row * columns + x];
  out[x] = sum;
}

// Hillis and Steele: ten rounds through shared memory for 1024 elements.
__global__ void scan_by_rounds(const float* in, float* out) {
  __shared__ float sums[2][1024];
  int from = 0;
  sums[0][threadIdx.x] = in[blockIdx.x * 1024 + threadIdx.x];
  __syncthreads();
  for (int reach = 1; reach < 1024; reach *= 2, from ^= 1) {
    const float left = threadIdx.x >= reach ? sums[from][threadIdx.x - reach] : 0;
    sums[from ^ 1][threadIdx.x] = sums[from][threadIdx.x] + left;
    __syncthreads();
  }
  out[blockIdx.x * 1024 + threadIdx.x] = sums[from][threadIdx.x];
}

__global__ void scan_by_shuffles(const float4* in, float4* out) {
  __shared__ float of_warps[8];
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
  float4 v = in[i];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  float sum = v.w;
  for (int reach = 1; reach < 32; reach *= 2) {
    const float left = __shfl_up_sync(~0U, sum, reach);
    if (lane >= reach) sum += left;
  }
  if (lane == 31) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  float before = sum - v.w;
  for (int warp = 0; warp < threadIdx.x / 32; ++warp) before += of_warps[warp];
  out[i] = {v.x + before, v.y + before, v.z + before, v.w + before};
}

// A row of 1024 stays in a warp's registers.
__global__ void softmax_by_warp(const float4* in, float4* out, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float4 v[8];
  float largest = -FLT_MAX, sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = in[row * 256 + i * 32 + lane];
    largest = fmaxf(largest, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
  }
  largest = warp_max(largest);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = {__expf(v[i].x - largest), __expf(v[i].y - largest), __expf(v[i].z - largest),
            __expf(v[i].w - largest)};
    sum += v[i].x + v[i].y + v[i].z + v[i].w;
  }
  const float scale = 1 / warp_sum(sum);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[row * 256 + i * 32 + lane] = {scale * v[i].x, scale * v[i].y, scale * v[i].z, scale * v[i].w};
  }
}

// Three passes over a row: the maximum, the sum, the results.
__global__ void softmax_by_cta(const float* in, float* out, int columns) {
  in += int64_t{blockIdx.x} * columns;
  out += int64_t{blockIdx.x} * columns;
  float largest = -FLT_MAX, sum = 0;
  for (int x = threadIdx.x; x < columns; x += blockDim.x) largest = fmaxf(largest, in[x]);
  largest = cta_max(largest);
  for (int x = threadIdx.x; x < columns; x += blockDim.x) sum += __expf(in[x] - largest);
  const float scale = 1 / cta_sum(sum);
  for (int x = threadIdx.x; x < columns; x += blockDim.x) out[x] = scale * __expf(in[x] - largest);
}

// Maximum and sum in one pass, as a thread a row: neighbours read a whole row apart.
__global__ void softmax_by_thread(const float* in, float* out, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  in += int64_t{row} * columns;
  out += int64_t{row} * columns;
  float largest = -FLT_MAX, sum = 0;
  for (int x = 0; x < columns; ++x) {
    const float v = in[x], now = fmaxf(largest, v);
    sum = sum * __expf(largest - now) + __expf(v - now);
    largest = now;
  }
  for (int x = 0; x < columns; ++x) out[x] = __expf(in[x] - largest) / sum;
}

__global__ void layer_norm(const float4* in, float4* out, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float4 v[8];
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = in[row * 256 + i * 32 + lane];
    sum += v[i].x + v[i].y + v[i].z + v[i].w;
    squares += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
  }
  const float mean = warp_sum(sum) / 1024, scale = rsqrtf(warp_sum(squares) / 1024 - mean * mean + 1e-5F);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[row * 256 + i * 32 + lane] = {scale * (v[i].x - mean), scale * (v[i].y - mean),
                                      scale * (v[i].z - mean), scale * (v[i].w - mean)};
  }
}

__global__ void rms_norm(const float* in, const float* weight, float* out, int columns) {
  in += int64_t{blockIdx.x} * columns;
  out += int64_t{blockIdx.x} * columns;
  float squares = 0;
  for (int x = threadIdx.x; x < columns; x += blockDim.x) squares += in[x] * in[x];
  const float scale = rsqrtf(cta_sum(squares) / columns + 1e-5F);
  for (int x = threadIdx.x; x < columns; x += blockDim.x) out[x] = in[x] * scale * weight[x];
}

// Sorts 1024 elements in shared memory: 55 rounds.
__global__ void bitonic_sort(const float* in, float* out) {
  __shared__ float data[1024];
  const int base = blockIdx.x * 1024, t = threadIdx.x;
  data[t] = in[base + t];
  data[t + 512] = in[base + t + 512];
  for (int size = 2; size <= 1024; size *= 2) {
    for (int reach = size / 2; reach > 0; reach /= 2) {
      __syncthreads();
      const int i = 2 * t - (t & (reach - 1));
      const float a = data[i], b = data[i + reach];
      const bool up = (i & size) == 0;
      data[i] = up ? fminf(a, b) : fmaxf(a, b);
      data[i + reach] = up ? fmaxf(a, b) : fminf(a, b);
    }
  }
  __syncthreads();
  out[base + t] = data[t];
  out[base + t + 512] = data[t + 512];
}

inline void add_sums(Cases& all) {
  for (const int64_t n : {kMillion, 32 * kMillion}) {
    const auto bytes = static_cast<std::size_t>(4 * n);
    const double read = double(bytes);
    const int count = static_cast<int>(n);
    all.push_back(make(
        "sum, 1056 CTAs and an atomic each", megabytes(read), sum_by_atomics, 132 * 8, 256,
        {.a = bytes, .out = 256},
        {.bytes = read,
         .l2_bytes = read,
         .l1_bytes = read,
         .flops = double(n),
         .trips = std::max(1.0, n / 4.0 / (132 * 8 * 256)),
         .barriers = 2},
        [=](const Set& s) { return std::tuple(static_cast<const float4*>(s.a), s.result(), count / 4); }));
    all.push_back(
        make("sum, trees of 256", megabytes(read), sum_by_tree, ceil_div(n, 256), 256,
             {.a = bytes, .out = bytes / 256},
             {.bytes = read, .l2_bytes = read, .l1_bytes = 5 * read, .flops = double(n), .barriers = 8},
             [=](const Set& s) { return std::tuple(s.floats(), s.result()); }));
    all.push_back(
        make("dot product, 528 CTAs", megabytes(2 * read), dot, 132 * 4, 256,
             {.a = bytes, .b = bytes, .out = 4 * 132 * 4},
             {.bytes = 2 * read,
              .l2_bytes = 2 * read,
              .l1_bytes = 2 * read,
              .flops = 2.0 * n,
              .trips = double(n) / (132 * 4 * 256),
              .barriers = 2},
             [=](const Set& s) { return std::tuple(s.floats(), s.more_floats(), s.result(), count); }));
  }
  const auto bytes = static_cast<std::size_t>(kMillion);
  all.push_back(
      make("sum, one CTA", megabytes(double(bytes)), sum_by_atomics, 1, 1024, {.a = bytes, .out = 256},
           {.bytes = double(bytes),
            .l2_bytes = double(bytes),
            .l1_bytes = double(bytes),
            .flops = bytes / 4.0,
            .trips = bytes / 16.0 / 1024,
            .barriers = 2},
           [=](const Set& s) {
             return std::tuple(static_cast<const float4*>(s.a), s.result(), static_cast<int>(bytes / 16));
           }));
}

inline void add_rows(Cases& all) {
  for (const auto& [rows, columns] : {std::pair{1024, 1024}, {16384, 1024}, {512, 16384}}) {
    const int64_t n = int64_t{rows} * columns;
    const auto bytes = static_cast<std::size_t>(4 * n);
    const double once = double(bytes), elements = double(n);
    const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
    const Memory to_rows{.a = bytes, .out = std::size_t{4} * rows}, all_of_it{.a = bytes, .out = bytes};
    const auto warps = ceil_div(rows, 8);
    all.push_back(make(
        "row sums, a warp a row", size, row_sum_by_warp, warps, 256, to_rows,
        {.bytes = once, .l2_bytes = once, .l1_bytes = once, .flops = elements, .trips = columns / 32.0 / 16},
        [=](const Set& s) { return std::tuple(s.floats(), s.result(), rows, columns); }));
    all.push_back(make("row sums, a CTA a row", size, row_sum_by_cta, rows, 256, to_rows,
                       {.bytes = once,
                        .l2_bytes = once,
                        .l1_bytes = once,
                        .flops = elements,
                        .trips = columns / 256.0,
                        .barriers = 2},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result(), columns); }));
    all.push_back(
        make("column sums, a thread a column", size, column_sum, ceil_div(columns, 128), 128,
             {.a = bytes, .out = std::size_t{4} * columns},
             {.bytes = once, .l2_bytes = once, .l1_bytes = once, .flops = elements, .trips = rows / 16.0},
             [=](const Set& s) { return std::tuple(s.floats(), s.result(), rows, columns); }));
    all.push_back(make("softmax, a CTA a row, three passes", size, softmax_by_cta, rows, 256, all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = columns > 1024 ? 4 * once : 2 * once,
                        .l1_bytes = 4 * once,
                        .flops = 4 * elements,
                        .exps = 2 * elements,
                        .trips = 3 * columns / 256.0,
                        .barriers = 4},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result(), columns); }));
    all.push_back(
        make("RMS norm, a CTA a row", size, rms_norm, rows, 256,
             {.a = bytes, .b = std::size_t{4} * columns, .out = bytes},
             {.bytes = 2 * once,
              .l2_bytes = 3 * once,
              .l1_bytes = 4 * once,
              .flops = 4 * elements,
              .trips = 2 * columns / 256.0,
              .barriers = 2},
             [=](const Set& s) { return std::tuple(s.floats(), s.more_floats(), s.result(), columns); }));
    if (columns != 1024) continue;
    const auto vectors = [=](const Set& s) {
      return std::tuple(static_cast<const float4*>(s.a), static_cast<float4*>(s.out), rows);
    };
    all.push_back(make("softmax, a warp a row", size, softmax_by_warp, warps, 256, all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = 2 * once,
                        .l1_bytes = 2 * once,
                        .flops = 4 * elements,
                        .exps = elements},
                       vectors));
    all.push_back(make("layer norm, a warp a row", size, layer_norm, warps, 256, all_of_it,
                       {.bytes = 2 * once, .l2_bytes = 2 * once, .l1_bytes = 2 * once, .flops = 6 * elements},
                       vectors));
    // Each load goes to 32 lines. A sector holds eight elements of a row, and stays in L1 until they are
    // used.
    all.push_back(make("softmax, a thread a row", size, softmax_by_thread, ceil_div(rows, 128), 128,
                       all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = 3 * once,
                        .l1_bytes = 3 * 32 * once,
                        .flops = 6 * elements,
                        .exps = 4 * elements,
                        .trips = 2 * columns / 4.0},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result(), rows, columns); }));
    all.push_back(make("scan of 1024, rounds in shared memory", size, scan_by_rounds, rows, 1024, all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = 2 * once,
                        .l1_bytes = (4 + 3 * 10) * once,
                        .flops = 10 * elements,
                        .barriers = 11},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result()); }));
    all.push_back(make("scan of 1024, shuffles", size, scan_by_shuffles, rows, 256, all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = 2 * once,
                        .l1_bytes = 4.25 * once,
                        .flops = 4 * elements,
                        .barriers = 1},
                       [=](const Set& s) {
                         return std::tuple(static_cast<const float4*>(s.a), static_cast<float4*>(s.out));
                       }));
    all.push_back(make("bitonic sort of 1024", size, bitonic_sort, rows, 512, all_of_it,
                       {.bytes = 2 * once,
                        .l2_bytes = 2 * once,
                        .l1_bytes = (4 + 2 * 55) * once,
                        .flops = 55 * 2 * elements,
                        .barriers = 56},
                       [=](const Set& s) { return std::tuple(s.floats(), s.result()); }));
  }
}

}  // namespace plain

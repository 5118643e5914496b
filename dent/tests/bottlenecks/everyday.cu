// SPDX-License-Identifier: MIT
// Kernels as people first write them: matrix products in fp32, softmax of rows, sums by trees of barriers,
// bodies that attract each other, a fractal, sines to the last bit.
#include "bottlenecks/planted.h"

namespace bottlenecks {
namespace {

constexpr unsigned kSize = 2048;  // of all three matrices

}  // namespace

// Two loads for each multiply-add.
__global__ void planted_naive_sgemm(const float* a, const float* b, float* c) {
  const unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  float sum = 0;
  for (unsigned k = 0; k < kSize; ++k) sum = fmaf(a[row * kSize + k], b[k * kSize + column], sum);
  c[row * kSize + column] = sum;
}

// Two loads from shared memory for each multiply-add.
__global__ void __launch_bounds__(1024) planted_tiled_sgemm(const float* a, const float* b, float* c) {
  __shared__ float tile_a[32][32], tile_b[32][32];
  const unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (unsigned k = 0; k < kSize; k += 32) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * kSize + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * kSize + column];
    __syncthreads();
    for (unsigned i = 0; i < 32; ++i) sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

// A warp for each row of 1024 columns.
__global__ void planted_softmax_rows(const float* in, float* out) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  float x[32], most = -INFINITY, sum = 0;
#pragma unroll
  for (unsigned k = 0; k < 32; ++k) {
    x[k] = in[row * 1024 + k * 32 + lane];
    most = fmaxf(most, x[k]);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, lanes));
#pragma unroll
  for (float& value : x) {
    value = __expf(value - most);
    sum += value;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, lanes);
#pragma unroll
  for (unsigned k = 0; k < 32; ++k) out[row * 1024 + k * 32 + lane] = x[k] / sum;
}

// Sums of 1024 numbers: ten barriers, and at each of them fewer threads with something to do.
__global__ void __launch_bounds__(1024) planted_tree_reduction(const float* in, float* out) {
  __shared__ float part[1024];
  part[threadIdx.x] = in[blockIdx.x * 1024U + threadIdx.x];
  __syncthreads();
  for (unsigned half = 512; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void planted_bodies(const float4* in, float4* out) {
  constexpr unsigned kBodies = 8192;
  __shared__ float4 tile[256];
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  const float4 me = in[i % kBodies];
  float ax = 0, ay = 0, az = 0;
  for (unsigned first = 0; first < kBodies; first += 256) {
    tile[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (unsigned j = 0; j < 256; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01F);
      const float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    __syncthreads();
  }
  out[i] = make_float4(ax, ay, az, 0);
}

__global__ void planted_fractal(const float* in, float* out) {
  constexpr unsigned kSide = 2048;
  const unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const float cx = -2.0F + 3.0F * static_cast<float>(x) / kSide,
              cy = -1.5F + 3.0F * static_cast<float>(y) / kSide;
  float zx = 0, zy = in[0] * 0;
  int steps = 0;
  while (steps < 256 && zx * zx + zy * zy < 4) {
    const float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
    ++steps;
  }
  out[y * kSide + x] = static_cast<float>(steps);
}

// A prefix sum of each block's 1024 numbers: ten steps with two barriers each.
__global__ void __launch_bounds__(1024) planted_prefix_sum(const float* in, float* out) {
  __shared__ float part[1024];
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * 1024 + threadIdx.x;
  part[threadIdx.x] = in[i];
  __syncthreads();
  for (unsigned step = 1; step < 1024; step *= 2) {
    const float left = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
    __syncthreads();
    part[threadIdx.x] += left;
    __syncthreads();
  }
  out[i] = part[threadIdx.x];
}

// sin and log of large numbers, to the last bit: no unit of its own, many instructions.
__global__ void planted_slow_sines(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  for (int round = 0; round < 64; ++round) x = sinf(x) + 1.5F;
  out[i] = x;
}

void naive_sgemm(const Arena& arena) {
  planted_naive_sgemm<<<dim3(kSize / 32, kSize / 8), dim3(32, 8)>>>(arena.in, arena.in + kSize * kSize,
                                                                    arena.out);
}
void tiled_sgemm(const Arena& arena) {
  planted_tiled_sgemm<<<dim3(kSize / 32, kSize / 32), dim3(32, 32)>>>(arena.in, arena.in + kSize * kSize,
                                                                      arena.out);
}
void softmax_rows(const Arena& arena) {
  constexpr unsigned kRows = Arena::kBytes / (1024 * sizeof(float));
  planted_softmax_rows<<<kRows / 8, 256>>>(arena.in, arena.out);
}
void tree_reduction(const Arena& arena) {
  constexpr unsigned kSums = Arena::kBytes / (1024 * sizeof(float));
  planted_tree_reduction<<<kSums, 1024>>>(arena.in, arena.out);
}

void bodies(const Arena& arena) {
  planted_bodies<<<waves_of(arena, 8, 2), 256>>>(reinterpret_cast<const float4*>(arena.in),
                                                 reinterpret_cast<float4*>(arena.out));
}
void fractal(const Arena& arena) { planted_fractal<<<dim3(128, 128), dim3(16, 16)>>>(arena.in, arena.out); }
void prefix_sum(const Arena& arena) { planted_prefix_sum<<<65536, 1024>>>(arena.in, arena.out); }
void slow_sines(const Arena& arena) {
  planted_slow_sines<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks

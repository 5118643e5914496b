// SPDX-License-Identifier: MIT
// C = A B^T in bf16, large enough that the tensor cores are what it waits for: tiles of 128 x 128, three
// stages of cp.async, warps of 64 x 32.
#include "bottlenecks/planted.h"
#include "primitives/cp_async.h"
#include "primitives/shared.h"
#include "primitives/warp_matrix.h"

namespace bottlenecks {
namespace {

using namespace flashmoe;
using namespace flashmoe::gpu;

constexpr int kSize = 4096;  // of all three matrices
constexpr int kTile = 128, kTileK = 64, kStages = 3, kThreads = 256;
constexpr int kRowBytes = kTileK * 2;
constexpr int kStageBytes = 2 * kTile * kRowBytes;

// Sixteen-byte chunk `chunk` of a row, where no eight rows in a row share a bank.
__device__ __forceinline__ uint32_t place(uint32_t tile, int row, int chunk) {
  return tile + static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
}

__device__ __forceinline__ void load_tile(uint32_t tile, const bf16* from, int first_row, int k) {
#pragma unroll
  for (int i = 0; i < kTile * kRowBytes / 16 / kThreads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads;
    const int row = at / 8, chunk = at % 8;
    cp_async_16(place(tile, row, chunk), from + static_cast<size_t>(first_row + row) * kSize + k + chunk * 8,
                16);
  }
}

}  // namespace

__global__ void __launch_bounds__(kThreads, 2) planted_tensor_gemm(const bf16* a, const bf16* b, float* c) {
  struct Smem {
    unsigned char stages[kStages][kStageBytes];
  };
  const uint32_t smem = shared_address(&shared<Smem>());
  const int rows = static_cast<int>(blockIdx.y) * kTile, columns = static_cast<int>(blockIdx.x) * kTile;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
  const auto load = [&](int step) {
    if (step < kSize / kTileK) {
      const uint32_t stage = smem + static_cast<uint32_t>(step % kStages * kStageBytes);
      load_tile(stage, a, rows, step * kTileK);
      load_tile(stage + kTile * kRowBytes, b, columns, step * kTileK);
    }
    cp_async_commit();
  };
  float sums[4][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step) load(step);
  for (int step = 0; step < kSize / kTileK; ++step) {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    load(step + kStages - 1);
    const uint32_t stage = smem + static_cast<uint32_t>(step % kStages * kStageBytes);
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      uint32_t left[4][4], right[2][4];
#pragma unroll
      for (int m = 0; m < 4; ++m)
        ldmatrix_x4(left[m], place(stage, warp_row + m * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const int row = warp_column + n * 16 + lane / 16 * 8 + lane % 8;
        ldmatrix_x4(right[n], place(stage + kTile * kRowBytes, row, k * 2 + lane / 8 % 2));
      }
#pragma unroll
      for (int m = 0; m < 4; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          mma_m16n8k16<bf16>(sums[m][n], left[m], right[n / 2][n % 2 * 2], right[n / 2][n % 2 * 2 + 1]);
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < 4; ++m) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const size_t row = static_cast<size_t>(rows + warp_row + m * 16 + lane / 4);
      float* to = c + row * kSize + columns + warp_column + n * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = make_float2(sums[m][n][0], sums[m][n][1]);
      *reinterpret_cast<float2*>(to + 8 * kSize) = make_float2(sums[m][n][2], sums[m][n][3]);
    }
  }
}

void tensor_gemm(const Arena& arena) {
  constexpr int kBytes = kStages * kStageBytes;
  cudaFuncSetAttribute(planted_tensor_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const auto* a = reinterpret_cast<const bf16*>(arena.in);
  const dim3 grid(kSize / kTile, kSize / kTile);
  planted_tensor_gemm<<<grid, kThreads, kBytes>>>(a, a + static_cast<size_t>(kSize) * kSize, arena.out);
}

}  // namespace bottlenecks

// SPDX-License-Identifier: MIT
// Stores: far apart, while the loads are side by side, and so many that nothing else matters.
#include "bottlenecks/planted.h"

namespace bottlenecks {

// One number into each sector of 32 bytes.
__global__ void planted_strided_stores(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i * 8ULL] = in[i] * 2;
}

constexpr unsigned kSide = 8192;  // a square of it fills the arena
static_assert(std::size_t{kSide} * kSide * sizeof(float) == Arena::kBytes);

__global__ void planted_naive_transpose(const float* in, float* out) {
  const unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[static_cast<std::size_t>(x) * kSide + y] = in[static_cast<std::size_t>(y) * kSide + x];
}

__global__ void planted_only_stores(float4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = make_float4(1, 2, 3, 4);
}

void strided_stores(const Arena& arena) {
  constexpr unsigned kThreads = Arena::kBytes / (8 * sizeof(float));
  planted_strided_stores<<<kThreads / 256, 256>>>(arena.in, arena.out);
}
void naive_transpose(const Arena& arena) {
  planted_naive_transpose<<<dim3(kSide / 32, kSide / 8), dim3(32, 8)>>>(arena.in, arena.out);
}

void only_stores(const Arena& arena) {
  planted_only_stores<<<Arena::kBytes / 16 / 256, 256>>>(reinterpret_cast<float4*>(arena.out));
}

}  // namespace bottlenecks

// SPDX-License-Identifier: MIT
// Lanes that do not go together: each takes another branch, or most of the warp is not there at all.
#include "bottlenecks/arithmetic.cuh"
#include "bottlenecks/planted.h"

namespace bottlenecks {
namespace {

// Eight pieces of code that no compiler makes one of.
template <int kBranch>
__device__ __noinline__ float branch(float x) {
  constexpr float kFactor = 0.9F + 0.001F * kBranch;
  for (int round = 0; round < 8 + kBranch; ++round) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x = fmaf(x, kFactor, 0.01F * static_cast<float>(kBranch + i));
  }
  return x;
}

}  // namespace

__global__ void planted_divergent_switch(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned word = __float_as_uint(in[i]);
  float x = in[i];
  for (unsigned round = 0; round < 4; ++round) {
    switch ((word + round) % 8) {
      case 0:
        x = branch<0>(x);
        break;
      case 1:
        x = branch<1>(x);
        break;
      case 2:
        x = branch<2>(x);
        break;
      case 3:
        x = branch<3>(x);
        break;
      case 4:
        x = branch<4>(x);
        break;
      case 5:
        x = branch<5>(x);
        break;
      case 6:
        x = branch<6>(x);
        break;
      default:
        x = branch<7>(x);
        break;
    }
  }
  out[i] = x;
}

// Rows of different length, a lane each.
__global__ void planted_ragged_loop(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned hash = i * 2654435761U >> 24;  // 0 .. 255
  const int rounds = hash > 250 ? 400 : static_cast<int>(hash / 16);
  out[i] = multiply_and_add(in[i], rounds);
}

// Eight threads a block: three quarters of each warp are empty.
__global__ void planted_tiny_ctas(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = multiply_and_add(in[i], 100);
}

void divergent_switch(const Arena& arena) {
  planted_divergent_switch<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}
void ragged_loop(const Arena& arena) {
  planted_ragged_loop<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}
void tiny_ctas(const Arena& arena) { planted_tiny_ctas<<<waves_of(arena, 32, 16), 8>>>(arena.in, arena.out); }

}  // namespace bottlenecks

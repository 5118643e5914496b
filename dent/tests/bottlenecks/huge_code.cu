// SPDX-License-Identifier: MIT
// More instructions than an SM keeps: sixteen pieces of 16 KiB, through which the warps go in turn, each from
// another one on.
#include "bottlenecks/planted.h"

namespace bottlenecks {
namespace {

template <int kPiece>
__device__ __noinline__ float piece(float x) {
  float y = x + 1;
#pragma unroll
  for (int i = 0; i < 512; ++i) {
    x = fmaf(x, 0.5F + 0.0001F * static_cast<float>(kPiece * 512 + i), 0.25F);
    y = fmaf(y, 0.25F + 0.0001F * static_cast<float>(kPiece * 512 + i), 0.5F);
  }
  return x + y;
}

__device__ __forceinline__ float run_piece(unsigned which, float x) {
  switch (which) {
    case 0:
      return piece<0>(x);
    case 1:
      return piece<1>(x);
    case 2:
      return piece<2>(x);
    case 3:
      return piece<3>(x);
    case 4:
      return piece<4>(x);
    case 5:
      return piece<5>(x);
    case 6:
      return piece<6>(x);
    case 7:
      return piece<7>(x);
    case 8:
      return piece<8>(x);
    case 9:
      return piece<9>(x);
    case 10:
      return piece<10>(x);
    case 11:
      return piece<11>(x);
    case 12:
      return piece<12>(x);
    case 13:
      return piece<13>(x);
    case 14:
      return piece<14>(x);
    default:
      return piece<15>(x);
  }
}

}  // namespace

__global__ void planted_huge_code(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned warp = i / 32;
  float x = in[i];
  for (unsigned round = 0; round < 16; ++round) x = run_piece((warp * 5 + round) % 16, x);
  out[i] = x;
}

void huge_code(const Arena& arena) { planted_huge_code<<<waves_of(arena, 8, 1), 256>>>(arena.in, arena.out); }

}  // namespace bottlenecks

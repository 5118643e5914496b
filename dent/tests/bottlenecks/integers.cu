// SPDX-License-Identifier: MIT
// Integers: a hash, which shifts, xors and adds; and what goes through the unit that converts: division, and
// bytes made into floats.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void planted_integer_hash(const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned chain[4] = {in[i], in[i] + 1U, in[i] + 2U, in[i] + 3U};
  for (unsigned round = 0; round < 256; ++round) {
#pragma unroll
    for (unsigned& x : chain) {
      x ^= x >> 16;
      x = (x ^ x << 5) + round;
      x ^= x >> 13;
    }
  }
  out[i] = chain[0] ^ chain[1] ^ chain[2] ^ chain[3];
}

__global__ void planted_integer_division(const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned divisor = in[i] % 1000U + 1U, sum = 0;
  for (unsigned round = 0; round < 128; ++round) {
    sum += (0xFFFFFFFFU - round) / divisor;
    divisor += 3;
  }
  out[i] = sum;
}

__global__ void planted_byte_values(const unsigned* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned word = in[i];
  float sum = 0;
  for (int round = 0; round < 128; ++round) {
    sum += static_cast<float>(word & 255U) + static_cast<float>(word >> 8 & 255U) * 0.5F +
           static_cast<float>(word >> 16 & 255U) * 0.25F + static_cast<float>(word >> 24) * 0.125F;
    word = word * 1664525U + 1013904223U;
  }
  out[i] = sum;
}

void integer_hash(const Arena& arena) {
  planted_integer_hash<<<waves_of(arena, 8, 4), 256>>>(reinterpret_cast<const unsigned*>(arena.in),
                                                       reinterpret_cast<unsigned*>(arena.out));
}
void integer_division(const Arena& arena) {
  planted_integer_division<<<waves_of(arena, 8, 4), 256>>>(reinterpret_cast<const unsigned*>(arena.in),
                                                           reinterpret_cast<unsigned*>(arena.out));
}

void byte_values(const Arena& arena) {
  planted_byte_values<<<waves_of(arena, 8, 4), 256>>>(reinterpret_cast<const unsigned*>(arena.in), arena.out);
}

}  // namespace bottlenecks

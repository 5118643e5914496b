// SPDX-License-Identifier: MIT
// Neighbouring threads that touch far places: in global memory (with and without a cache that makes up for
// it) and in the banks of shared memory.
#include "bottlenecks/planted.h"

namespace bottlenecks {

// One number out of each sector of 32 bytes.
__global__ void planted_strided_loads(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * 8ULL] * 2;
}

// Sums of rows of 256 numbers, a thread for each row: what one load fetches, the next seven use from the L1
// cache.
__global__ void planted_row_per_thread(const float* in, float* out) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (unsigned column = 0; column < 256; ++column) sum += in[row * 256ULL + column];
  out[row] = sum;
}

// One coordinate of each particle, moved by one of its velocity: two loads and a store, 32 bytes apart.
__global__ void planted_struct_fields(const float* in, float* out) {
  struct Particle {
    float at[4], velocity[4];
  };
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto* particle = reinterpret_cast<const Particle*>(in) + i;
  reinterpret_cast<Particle*>(out)[i].at[0] = particle->at[0] + 0.1F * particle->velocity[0];
}

// Points of three coordinates, a thread each: neighbours are 12 bytes apart, but what one load leaves in the
// L1 cache, the next two use. Only DRAM counts.
__global__ void planted_vector_fields(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float* point = in + 3ULL * i;
  out[i] = point[0] * point[0] + point[1] * point[1] + point[2] * point[2];
}

__global__ void planted_random_gather(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = i;
  float sum = 0;
  for (int round = 0; round < 8; ++round) {
    at = (at ^ at >> 15) * 2246822519U + 374761393U;
    sum += in[at % (Arena::kBytes / sizeof(float))];
  }
  out[i] = sum;
}

// All 32 lanes want the same bank.
__global__ void planted_bank_conflicts(const float* in, float* out) {
  __shared__ float tile[32 * 64];
  for (unsigned i = threadIdx.x; i < 32 * 64; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  float sum = 0;
  for (unsigned round = 0; round < 256; ++round)
    sum += tile[((threadIdx.x % 32) * 32 + round * 33) % (32 * 64)];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

void strided_loads(const Arena& arena) {
  constexpr unsigned kThreads = Arena::kBytes / (8 * sizeof(float));
  planted_strided_loads<<<kThreads / 256, 256>>>(arena.in, arena.out);
}
void row_per_thread(const Arena& arena) {
  constexpr unsigned kRows = Arena::kBytes / (256 * sizeof(float));
  planted_row_per_thread<<<kRows / 128, 128>>>(arena.in, arena.out);
}
void struct_fields(const Arena& arena) {
  constexpr unsigned kParticles = Arena::kBytes / (8 * sizeof(float));
  planted_struct_fields<<<kParticles / 256, 256>>>(arena.in, arena.out);
}
void vector_fields(const Arena& arena) {
  constexpr unsigned kPoints = Arena::kBytes / (4 * sizeof(float));
  planted_vector_fields<<<kPoints / 256, 256>>>(arena.in, arena.out);
}
void random_gather(const Arena& arena) {
  planted_random_gather<<<waves_of(arena, 8, 8), 256>>>(arena.in, arena.out);
}
void bank_conflicts(const Arena& arena) {
  planted_bank_conflicts<<<waves_of(arena, 8, 2), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks

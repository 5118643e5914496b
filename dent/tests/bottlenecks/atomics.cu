// SPDX-License-Identifier: MIT
// Threads that add to the same few places: what arrives together is done one after the other, by the one
// slice of the L2 cache, or the one SM, that has the address.
#include "bottlenecks/planted.h"

namespace bottlenecks {

// A sum as it is first written.
__global__ void planted_atomic_sum(const float* in, float* out) {
  atomicAdd(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void planted_atomic_histogram(const unsigned* in, unsigned* bins) {
  const unsigned stride = gridDim.x * blockDim.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 4; ++round, i += stride) atomicAdd(bins + in[i] % 64, 1U);
}

// Additions to random places of 16 MiB: no two meet, but each is a sector and an operation of the L2 cache.
__global__ void planted_scattered_atomics(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = i;
  for (int round = 0; round < 16; ++round) {
    at = (at ^ at >> 15) * 2246822519U + 374761393U;
    atomicAdd(out + (at >> 10), in[i]);
  }
}

// Places in an output, handed out by one counter: the answer of each addition is waited for.
__global__ void planted_atomic_slots(const unsigned* in, unsigned* counter, unsigned* out) {
  const unsigned found = in[blockIdx.x * blockDim.x + threadIdx.x];
  const unsigned slot = atomicAdd(counter, 1U + found % 4U);
  out[slot % (Arena::kBytes / sizeof(unsigned) / 2)] = found;
}

// The place of each number among its equals: a counter in shared memory for each of eight, and its answer is
// waited for.
__global__ void planted_shared_ranks(const unsigned* in, unsigned* out) {
  __shared__ unsigned counters[8];
  if (threadIdx.x < 8) counters[threadIdx.x] = 0;
  __syncthreads();
  unsigned word = in[blockIdx.x * blockDim.x + threadIdx.x], sum = 0;
  for (int round = 0; round < 64; ++round) {
    sum += atomicAdd(counters + (word >> 8) % 8, 1U);
    word = word * 1664525U + 1013904223U;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// There is no addition of floats in shared memory: a loop of compare and swap, in which one lane wins.
__global__ void planted_shared_float_sum(const float* in, float* out) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (unsigned round = 0; round < 4; ++round)
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x + round]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

namespace {
unsigned* words(float* numbers) { return reinterpret_cast<unsigned*>(numbers); }
}  // namespace

void atomic_sum(const Arena& arena) {
  planted_atomic_sum<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}
void atomic_histogram(const Arena& arena) {
  planted_atomic_histogram<<<waves_of(arena, 8, 4), 256>>>(words(arena.in), words(arena.out));
}
void scattered_atomics(const Arena& arena) {
  planted_scattered_atomics<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}
void atomic_slots(const Arena& arena) {
  unsigned* out = words(arena.out);
  planted_atomic_slots<<<waves_of(arena, 8, 4), 256>>>(words(arena.in), out, out + Arena::kBytes / 8);
}
void shared_ranks(const Arena& arena) {
  planted_shared_ranks<<<waves_of(arena, 8, 2), 256>>>(words(arena.in), words(arena.out));
}
void shared_float_sum(const Arena& arena) {
  planted_shared_float_sum<<<waves_of(arena, 8, 2), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks

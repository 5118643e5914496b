// SPDX-License-Identifier: MIT
// Well-formed loads that one level of memory can't deliver faster: DRAM, the L2 cache, shared memory.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void planted_dram_copy(const float4* in, float4* out, unsigned count) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) out[i] = in[i];
}

// Every block reads the same 8 MiB, past the L1 cache.
__global__ void planted_l2_reads(const float4* in, float* out) {
  constexpr unsigned kCount = (8U << 20) / sizeof(float4);
  constexpr unsigned kReads = 512;
  unsigned at = (blockIdx.x * 7919U * blockDim.x + threadIdx.x) % kCount;
  float sum = 0;
#pragma unroll 8
  for (unsigned read = 0; read < kReads; ++read) {
    const float4 x = __ldcg(in + at);
    sum += x.x + x.y + x.z + x.w;
    at = (at + blockDim.x) % kCount;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Sixteen bytes a thread, without a bank conflict.
__global__ void planted_shared_reads(const float4* in, float4* out) {
  __shared__ float4 tile[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  float4 sum[4] = {};
  for (unsigned round = 0; round < 512; ++round) {
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
      const float4 x = tile[(threadIdx.x + 256 * part + round * 32) % 1024];
      sum[part].x += x.x;
      sum[part].y += x.y;
      sum[part].z += x.z;
      sum[part].w += x.w;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      make_float4(sum[0].x + sum[1].x + sum[2].x + sum[3].x, sum[0].y + sum[1].y + sum[2].y + sum[3].y,
                  sum[0].z + sum[1].z + sum[2].z + sum[3].z, sum[0].w + sum[1].w + sum[2].w + sum[3].w);
}

void dram_copy(const Arena& arena) {
  planted_dram_copy<<<waves_of(arena, 8, 4), 256>>>(reinterpret_cast<const float4*>(arena.in),
                                                    reinterpret_cast<float4*>(arena.out),
                                                    static_cast<unsigned>(Arena::kBytes / sizeof(float4)));
}
void l2_reads(const Arena& arena) {
  planted_l2_reads<<<waves_of(arena, 8, 2), 256>>>(reinterpret_cast<const float4*>(arena.in), arena.out);
}
void shared_reads(const Arena& arena) {
  planted_shared_reads<<<waves_of(arena, 8, 2), 256>>>(reinterpret_cast<const float4*>(arena.in),
                                                       reinterpret_cast<float4*>(arena.out));
}

}  // namespace bottlenecks

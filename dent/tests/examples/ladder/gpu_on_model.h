// SPDX-License-Identifier: MIT
// Takes the place of the example's gpu.cuh, so that its kernels, which are plain CUDA, run on the model of a
// GPU: the same names, on the model's twins.
#ifndef LADDER_GPU_CUH
#define LADDER_GPU_CUH

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/launch.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"

using flashmoe::gpu::ex2;
using flashmoe::gpu::high_halves;
using flashmoe::gpu::low_halves;
using flashmoe::gpu::shared;
using std::exp2f;
using std::fmaf;
using std::fmaxf;

using __half = flashmoe::fp16;
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
using cudaError_t = int;
using cudaStream_t = void*;

struct LadderIndex {
  unsigned x, y;
};
#define threadIdx (LadderIndex{static_cast<unsigned>(flashmoe::gpu::thread_index()), 0})
#define blockIdx (LadderIndex{flashmoe::gpu::block_index(), flashmoe::gpu::block_index_y()})
#define __syncthreads flashmoe::gpu::sync_block
#define __syncwarp flashmoe::gpu::sync_warp
#define __shfl_xor_sync(mask, value, step) flashmoe::gpu::shuffle_xor(value, step)
#define __shfl_sync(mask, value, lane) flashmoe::gpu::shuffle(value, lane)

inline float __half2float(__half x) { return flashmoe::to_float(x); }
inline __half __float2half(float x) { return flashmoe::to_fp16(x); }
inline float reciprocal(float x) { return 1 / x; }
inline void store(void* to, uint2 pair) { *static_cast<uint2*>(to) = pair; }
inline uint32_t pack(float low, float high) { return flashmoe::gpu::pack<__half>(low, high); }
inline float2 unpack(uint32_t pair) {
  return {flashmoe::to_float(__half{static_cast<uint16_t>(pair)}),
          flashmoe::to_float(__half{static_cast<uint16_t>(pair >> 16)})};
}
inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  flashmoe::gpu::mma_m16n8k16<__half>(c, a, b0, b1);
}
inline void copy_async(void* to, const void* from, bool there) {
  flashmoe::gpu::cp_async_16(flashmoe::gpu::shared_address(to), from, there);
}
inline void end_copy_group() { flashmoe::gpu::cp_async_commit(); }
template <int kPending>
void wait_for_copies() {
  flashmoe::gpu::cp_async_wait<kPending>();
}
inline void load_matrices(uint32_t (&fragment)[4], const void* row) {
  flashmoe::gpu::ldmatrix_x4(fragment, flashmoe::gpu::shared_address(row));
}
inline void load_matrices_transposed(uint32_t (&fragment)[4], const void* row) {
  flashmoe::gpu::ldmatrix_x4_trans(fragment, flashmoe::gpu::shared_address(row));
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), int blocks, int heads, int threads, std::size_t smem_bytes,
                   cudaStream_t stream, Arguments... arguments) {
  flashmoe::gpu::launch(kernel,
                        {.kernel = "rung",
                         .blocks = static_cast<unsigned>(blocks),
                         .blocks_y = static_cast<unsigned>(heads),
                         .threads = threads,
                         .smem_bytes = static_cast<int>(smem_bytes),
                         .stream = stream},
                        arguments...);
  return 0;
}

#endif

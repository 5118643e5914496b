// SPDX-License-Identifier: MIT
// What the rungs need of a GPU beyond plain CUDA C++: a few instructions by name, packed halves, shared
// memory as one struct, and a launch that takes its stream.
#ifndef LADDER_GPU_CUH
#define LADDER_GPU_CUH

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two halves in one register; `low` is the one that comes first in memory.
__device__ __forceinline__ uint32_t pack(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ float2 unpack(uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}
__device__ __forceinline__ uint32_t low_halves(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x5410);
}
__device__ __forceinline__ uint32_t high_halves(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x7632);
}

// 8 bytes at once, which the compiler makes two stores of when it is left to it.
__device__ __forceinline__ void store(void* to, uint2 pair) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(pair.x), "r"(pair.y) : "memory");
}

// C += A B by one warp: A is 16 x 16, B is 16 x 8. Lane 4 g + t holds of C the elements [g][2 t], [g][2 t +
// 1], [g + 8][2 t], [g + 8][2 t + 1]; of A [g][2 t..], [g + 8][2 t..], [g][2 t + 8..], [g + 8][2 t + 8..]; of
// B [2 t..][g], [2 t + 8..][g].
__device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Copies 16 bytes into shared memory behind the thread's back; with `there` false, zeros.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kPending of this thread's latest groups are still under way.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8 x 8 matrices of halves; lane i names row i % 8 of matrix i / 8. Transposed on the way, or not.
__device__ __forceinline__ void load_matrices(uint32_t (&fragment)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&fragment)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

template <class Layout>
__device__ __forceinline__ Layout& shared() {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  return *reinterpret_cast<Layout*>(dynamic_shared);
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), int blocks, int heads, int threads, size_t smem_bytes,
                   cudaStream_t stream, Arguments... arguments) {
  if (smem_bytes > 48 * 1024) {  // beyond that a kernel has to ask
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(smem_bytes));
    if (status != cudaSuccess) return status;
  }
  kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(heads)), threads, smem_bytes, stream>>>(
      arguments...);
  return cudaGetLastError();
}

#endif

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/ptx/only_on_gpu.h"
#include "primitives/tensor_map.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// prefetch.tensormap (sm_90): loads the map into the descriptor cache. Caller: any one thread.
__device__ __forceinline__ void tma_prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// cp.async.bulk.tensor.4d (sm_90): loads the tile whose first element has coordinates c0 (innermost) to c3 to
// shared address `to`, a multiple of 8 swizzled rows. Elements outside the tensor become zero; all bytes of
// the tile are reported to `barrier`, where they were announced. Caller: one thread.
__device__ __forceinline__ void tma_load_4d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0,
                                            int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

__device__ __forceinline__ void tma_load_5d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0,
                                            int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// cp.async.bulk.tensor.4d, shared to global (sm_90): drops elements outside the tensor, but a negative
// coordinate is an illegal instruction on an H200. Writers of `from` must have passed fence_proxy_async() and
// a barrier. Caller: one thread, which then commits, and waits before `from` is overwritten.
__device__ __forceinline__ void tma_store_4d(const TensorMap& map, uint32_t from, int c0, int c1, int c2,
                                             int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

__device__ __forceinline__ void tma_store_5d(const TensorMap& map, uint32_t from, int c0, int c1, int c2,
                                             int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(
          &map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

// cp.async.bulk.commit_group: closes the group of this thread's stores since the last commit.
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// cp.async.bulk.wait_group.read: waits until at most `kPending` of this thread's groups read shared memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// cp.async.bulk.wait_group: waits until all but `kPending` of this thread's groups are in global memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

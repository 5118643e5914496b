// SPDX-License-Identifier: MIT
// Checks of plain loads and stores in kernels. The checked build compiles kernels with -fsanitize=thread,
// which calls one of these before every access, and links them instead of ThreadSanitizer's runtime.
#include "primitives/model/machine.h"
#include "primitives/model/order.h"

namespace flashmoe::model {
namespace {

// An access to the block's shared memory or to its guards.
[[gnu::noinline]] void shared_access(const std::byte* place, std::size_t bytes, bool write) {
  const Block& block = *current->block;
  if (place < block.smem || place + bytes > block.smem + block.smem_bytes) {
    report(std::string(write ? "writes" : "reads") + " at offset " + std::to_string(place - block.smem) +
               ", outside of the block's " + std::to_string(block.smem_bytes) + " bytes of shared memory",
           current->last);
  }
  write ? order_write(place, bytes, false, current->last) : order_read(place, bytes, false, current->last);
}

// Returns quickly for a thread's own variables, which are most accesses.
inline void access(const void* address, std::size_t bytes, bool write) {
  const auto* place = static_cast<const std::byte*>(address);
  if (static_cast<std::size_t>(place - watched.begin) < watched.bytes) [[unlikely]]
    shared_access(place, bytes, write);
}

}  // namespace
}  // namespace flashmoe::model

using flashmoe::model::access;

#define HOOKS(bytes)                                                                  \
  void __tsan_read##bytes(void* address) { access(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { access(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { access(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { access(address, bytes, true); }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* address, std::size_t bytes) { access(address, bytes, false); }
void __tsan_write_range(void* address, std::size_t bytes) { access(address, bytes, true); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}

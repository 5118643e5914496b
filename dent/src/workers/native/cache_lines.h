// SPDX-License-Identifier: MIT
// Evicts memory from all caches of this machine, line by line.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace dent {

inline void flush_lines(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
#if defined(__x86_64__)
  constexpr std::size_t line = 64;
  for (auto at = begin / line * line; at < begin + bytes; at += line) {
    _mm_clflush(reinterpret_cast<const void*>(at));
  }
  _mm_mfence();
#elif defined(__aarch64__)
  std::uint64_t type = 0;
  asm volatile("mrs %0, ctr_el0" : "=r"(type));
  const std::size_t line = std::size_t{4} << ((type >> 16) & 0xF);  // bytes, of the smallest data cache line
  for (auto at = begin / line * line; at < begin + bytes; at += line) {
    asm volatile("dc civac, %0" ::"r"(at) : "memory");
  }
  asm volatile("dsb sy" ::: "memory");
#else
  (void)begin;
  (void)bytes;
#endif
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Whether the AMX kernel can run here. Compiled for any processor.
#include "cpu/amx_kernel.h"

#ifdef FLASHMOE_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace flashmoe::cpu {

#ifdef FLASHMOE_AMX
namespace {

constexpr bool has(unsigned long long bits, unsigned long long wanted) { return (bits & wanted) == wanted; }

bool processor_has_amx_and_avx512() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsSavesRegisters = 1U << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, kOsSavesRegisters)) return false;
  constexpr unsigned kAvx512 = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;  // F, DQ, BW, VL
  constexpr unsigned kAmx = 1U << 22 | 1U << 24;                           // BF16, TILE
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, kAvx512) || !has(d, kAmx)) return false;
  constexpr unsigned kAvx512Bf16 = 1U << 5;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, kAvx512Bf16);
}

bool system_keeps_tiles() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kVectors = 1U << 1 | 1U << 2 | 1U << 5 | 1U << 6 | 1U << 7;  // SSE, AVX, masks, ZMM
  constexpr unsigned kTileData = 18;
  constexpr unsigned kTiles = 1U << 17 | 1U << kTileData;
  if (!has(low, kVectors | kTiles)) return false;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM; Linux 5.16 and later
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const Kernel* amx_bf16_kernel() {
  static constexpr Kernel kernel{.name = "tiled bf16 on AMX",
                                 .reason = "AMX tiles multiply bf16",
                                 .attend = amx::attend_bf16,
                                 .scratch_bytes = amx::scratch_bytes_bf16,
                                 .panel_rows = 32,
                                 .packing_rows = 32,
                                 .core_flop_per_us = 600e3};
  static const bool available = processor_has_amx_and_avx512() && system_keeps_tiles();
  return available ? &kernel : nullptr;
}
#else
const Kernel* amx_bf16_kernel() { return nullptr; }
#endif

}  // namespace flashmoe::cpu

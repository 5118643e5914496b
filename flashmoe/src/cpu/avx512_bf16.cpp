// SPDX-License-Identifier: MIT
// The AVX512-BF16 kernel on its instructions, and whether it can run here. Only what stands between the
// pragmas is compiled for AVX-512: everything that other files might share comes before.
#include "cpu/avx512_bf16.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "cpu/tiled.h"
#include "numeric/half.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
// g++ 12 warns of its own AVX-512 header (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define FLASHMOE_AMX_VECTORS 1
#include "cpu/avx512_bf16-inl.h"

namespace flashmoe::cpu::avx512_bf16 {
namespace {

void attend(const Task& task) { attend_tiled<Ops>(task); }

}  // namespace
}  // namespace flashmoe::cpu::avx512_bf16

#pragma GCC diagnostic pop
#pragma GCC pop_options

namespace flashmoe::cpu {
namespace {

constexpr bool has(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

bool processor_has_avx512_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsSavesRegisters = 1U << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, kOsSavesRegisters)) return false;
  constexpr unsigned kAvx512 = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;  // F, DQ, BW, VL
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, kAvx512)) return false;
  constexpr unsigned kAvx512Bf16 = 1U << 5;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, kAvx512Bf16);
}

bool system_keeps_vectors() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kVectors = 1U << 1 | 1U << 2 | 1U << 5 | 1U << 6 | 1U << 7;  // SSE, AVX, masks, ZMM
  return has(low, kVectors);
}

}  // namespace

const Kernel* avx512_bf16_kernel() {
  static constexpr Kernel kernel{.name = "tiled bf16 on AVX-512",
                                 .reason = "AVX512-BF16 multiplies pairs of bf16",
                                 .attend = avx512_bf16::attend,
                                 .scratch_bytes = tiled_scratch_bytes<avx512_bf16::Ops>,
                                 .panel_rows = avx512_bf16::kPanelRows,
                                 .packing_rows = 12,
                                 .core_flop_per_us = 100e3};
  static const bool available = processor_has_avx512_bf16() && system_keeps_vectors();
  return available ? &kernel : nullptr;
}

}  // namespace flashmoe::cpu

#else

namespace flashmoe::cpu {
const Kernel* avx512_bf16_kernel() { return nullptr; }
}  // namespace flashmoe::cpu

#endif

// SPDX-License-Identifier: MIT
// What differs between the instruction sets. Included once per SIMD target.
#if defined(FLASHMOE_CPU_TARGET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_TARGET_INL_H_
#undef FLASHMOE_CPU_TARGET_INL_H_
#else
#define FLASHMOE_CPU_TARGET_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#undef FLASHMOE_SVE
#undef FLASHMOE_NEON
#undef FLASHMOE_HAVE_32_REGISTERS
#if HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2 || HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128
#define FLASHMOE_SVE 1
#else
#define FLASHMOE_SVE 0
#endif
#define FLASHMOE_NEON (HWY_ARCH_ARM_A64 && !FLASHMOE_SVE)
#define FLASHMOE_HAVE_32_REGISTERS (HWY_ARCH_ARM_A64 || HWY_TARGET <= HWY_AVX3)

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

inline int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Tag())); }

// The maximum; NaN where x is NaN, unlike hn::Max.
HWY_INLINE Vector max_or_nan(Vector low, Vector x) {
#if FLASHMOE_NEON
  return Vector(vmaxq_f32(low.raw, x.raw));
#elif FLASHMOE_SVE
  return svmax_f32_x(svptrue_b32(), low, x);
#else
  return hn::Max(low, x);  // x86: the second operand when one is NaN
#endif
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: MIT
// 2^x, the exponential of softmax. Included once per SIMD target.
#if defined(FLASHMOE_CPU_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_EXP2_INL_H_
#undef FLASHMOE_CPU_EXP2_INL_H_
#else
#define FLASHMOE_CPU_EXP2_INL_H_
#endif

#include <hwy/highway.h>

#include "cpu/target-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Minimax for 2^r on [-0.5, 0.5] with the constant held at 1, by Estrin's scheme (short chains):
// (1 + c1 r) + r^2 ((c2 + c3 r) + r^2 (c4 + c5 r)).
inline constexpr float kExp2C1 = 0.6931470036506653F;
inline constexpr float kExp2C2 = 0.24022242426872253F;
inline constexpr float kExp2C3 = 0.05550733581185341F;
inline constexpr float kExp2C4 = 0.009671512991189957F;
inline constexpr float kExp2C5 = 0.001326472731307149F;

#if FLASHMOE_NEON
// The multiply-add of NEON overwrites its addend. A constant there would be copied from a register first,
// which takes a vector pipe; loading it takes none. `r` is no operand of
// the load: it keeps the compiler from sharing one load among several uses, with copies again.
alignas(16) inline constexpr float kExp2Addends[3][4] = {
    {1.0F, 1.0F, 1.0F, 1.0F}, {kExp2C2, kExp2C2, kExp2C2, kExp2C2}, {kExp2C4, kExp2C4, kExp2C4, kExp2C4}};
template <int kIndex>
HWY_INLINE Vector exp2_addend(Vector r) {
  float32x4_t addend;
  asm("ldr %q0, %1" : "=w"(addend) : "m"(kExp2Addends[kIndex]), "w"(r.raw));
  return Vector(addend);
}
#else
template <int kIndex>
HWY_INLINE Vector exp2_addend(Vector) {
  return hn::Set(Tag(), kIndex == 0 ? 1.0F : kIndex == 1 ? kExp2C2 : kExp2C4);
}
#endif

// For x <= 127. Relative error below 2^-22; exactly 1 at 0, exactly 0 at and below -126.5 (so for -inf too);
// NaN stays NaN.
HWY_INLINE Vector exp2_bounded(Vector x) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  // Adding 1.5 * 2^23 rounds to an integer in the low bits; 127 more makes it the exponent of 2^n at once.
  const auto magic = hn::Set(d, 12582912.0F + 127.0F);
  x = max_or_nan(hn::Set(d, -127.0F), x);
  const auto shifted = hn::Add(x, magic);
  const auto r = hn::Sub(x, hn::Sub(shifted, magic));  // in [-0.5, 0.5]
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  const auto r2 = hn::Mul(r, r);
  const auto low = hn::MulAdd(hn::Set(d, kExp2C1), r, exp2_addend<0>(r));
  const auto middle = hn::MulAdd(hn::Set(d, kExp2C3), r, exp2_addend<1>(r));
  const auto high = hn::MulAdd(hn::Set(d, kExp2C5), r, exp2_addend<2>(r));
  const auto fraction = hn::MulAdd(hn::MulAdd(high, r2, middle), r2, low);
  // A product, not an addition of exponents: NaN stays NaN, and 2^-127 becomes 0.
  return hn::Mul(fraction, power);
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

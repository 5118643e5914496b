// SPDX-License-Identifier: MIT
// 2^x for x <= 0, the exponential of softmax. Included once per SIMD target.
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

// Relative error below 2^-22; exactly 1 at 0, exactly 0 at and below -126.5 (so for -inf too); NaN stays
// NaN.
HWY_INLINE Vector exp2_nonpositive(Vector x) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  // Adding 1.5 * 2^23 rounds to an integer in the low bits; 127 more makes it the exponent of 2^n at once.
  const auto magic = hn::Set(d, 12582912.0F + 127.0F);
  x = max_or_nan(hn::Set(d, -127.0F), x);
  const auto shifted = hn::Add(x, magic);
  const auto r = hn::Sub(x, hn::Sub(shifted, magic));  // in [-0.5, 0.5]
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  // Minimax for 2^r with the constant held at 1, by Estrin's scheme: short chains.
  const auto r2 = hn::Mul(r, r);
  const auto low = hn::MulAdd(hn::Set(d, 0.6931470036506653F), r, hn::Set(d, 1.0F));
  const auto middle = hn::MulAdd(hn::Set(d, 0.05550733581185341F), r, hn::Set(d, 0.24022242426872253F));
  const auto high = hn::MulAdd(hn::Set(d, 0.001326472731307149F), r, hn::Set(d, 0.009671512991189957F));
  const auto fraction = hn::MulAdd(hn::MulAdd(high, r2, middle), r2, low);
  return hn::Mul(fraction,
                 power);  // a product, not an addition of exponents: NaN stays NaN, 2^-127 becomes 0
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

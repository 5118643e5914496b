// SPDX-License-Identifier: MIT
// Loads that widen fp16 and bf16 to fp32, and stores that round back. Included once per SIMD target.
#if defined(FLASHMOE_CPU_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_CONVERT_INL_H_
#undef FLASHMOE_CPU_CONVERT_INL_H_
#else
#define FLASHMOE_CPU_CONVERT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "numeric/half.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_fp32(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load_fp32(D d, const bf16* from) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, &from->bits));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

template <class D>
HWY_INLINE hn::Vec<D> load_fp32(D d, const fp16* from) {
  const hn::Rebind<hwy::float16_t, D> d16;
  const hn::Rebind<uint16_t, D> du16;
  return hn::PromoteTo(d, hn::BitCast(d16, hn::LoadU(du16, &from->bits)));
}

// The first `count` elements, zeros behind them.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_fp32_partial(D d, const T* from, int64_t count) {
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  for (int64_t i = 0; i < static_cast<int64_t>(hn::Lanes(d)); ++i)
    lanes[i] = i < count ? to_float(from[i]) : 0.0F;
  return hn::Load(d, lanes);
}

template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, float* to) {
  hn::StoreU(v, d, to);
}

template <class D>
HWY_INLINE void store_as(D, hn::Vec<D> v, bf16* to) {
  const hn::RebindToUnsigned<D> d32;
  const hn::Rebind<uint16_t, D> d16;
  const auto bits = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFF))));
  const auto quiet = hn::Set(d32, 0x7FC0);
  // By its bits: Highway 1.0's Ne(v, v) is false for NaN on AVX2.
  const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d32, 0x7FFFFFFF)), hn::Set(d32, 0x7F800000));
  hn::StoreU(hn::TruncateTo(d16, hn::IfThenElse(is_nan, quiet, rounded)), d16, &to->bits);
}

template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, fp16* to) {
  const hn::RebindToUnsigned<D> d32;
  const hn::Rebind<uint16_t, D> d16;
  // Integer arithmetic, the same as to_fp16 of numeric/half.h: what hardware does with NaN and rounding
  // differs.
  const auto bits = hn::BitCast(d32, v);
  const auto magnitude = hn::And(bits, hn::Set(d32, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 0x8000));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 1));
  const auto normal = hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(d32, 0x38000000 - 0xFFF)), odd));
  const auto small = hn::Sub(hn::BitCast(d32, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5F))),
                             hn::Set(d32, 0x3F000000));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 0x38800000)), small, normal);
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 0x477FF000)), half, hn::Set(d32, 0x7C00));
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x7F800000)), hn::Set(d32, 0x7E00), half);
  hn::StoreU(hn::TruncateTo(d16, hn::Or(half, sign)), d16, &to->bits);
}

// to[i] = from[i] * factor, rounded to nearest even.
template <class T>
void store_scaled(const float* from, float factor, int64_t count, T* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_as(d, hn::Mul(hn::LoadU(d, from + i), scale), to + i);
  for (; i < count; ++i) to[i] = from_float<T>(from[i] * factor);
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

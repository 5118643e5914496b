// SPDX-License-Identifier: MIT
// The 16-bit types as plain bits, with conversions in software: the same on every compiler and machine.
#pragma once

#include <bit>
#include <cstdint>

namespace flashmoe {

struct fp16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

inline float to_float(float x) { return x; }

inline float to_float(bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

inline float to_float(fp16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000U} << 16;
  const uint32_t exponent_and_fraction = uint32_t{x.bits & 0x7FFFU} << 13;
  // Multiplying by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals on the way.
  float magnitude = std::bit_cast<float>(exponent_and_fraction) * 0x1p112F;
  if (exponent_and_fraction >= (0x1FU << 23)) {  // infinity or NaN: all exponent bits set
    magnitude = std::bit_cast<float>(exponent_and_fraction | 0x7F800000U);
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

// Round to nearest even; NaN stays NaN.
inline bf16 to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

inline fp16 to_fp16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<uint16_t>(sign | 0x7E00U)};
  if (magnitude >= 0x477FF000U)
    return {static_cast<uint16_t>(sign | 0x7C00U)};  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the subnormal result, rounded by the hardware, in the low fraction bits.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000U))};
  }
  const uint32_t rounded = magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

template <class T>
T from_float(float x);
template <>
inline float from_float<float>(float x) {
  return x;
}
template <>
inline bf16 from_float<bf16>(float x) {
  return to_bf16(x);
}
template <>
inline fp16 from_float<fp16>(float x) {
  return to_fp16(x);
}

}  // namespace flashmoe

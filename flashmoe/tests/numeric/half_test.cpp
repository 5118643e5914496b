// SPDX-License-Identifier: MIT
// fp16 and bf16 against the definition of each format, evaluated in double: every pattern one way, and the
// other way every boundary between two neighbours.
#include "numeric/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace flashmoe::test::half_test {
namespace {

// sign, exponent and fraction bits of a 16-bit format.
template <class Half>
struct Format;
template <>
struct Format<fp16> {
  static constexpr int fraction_bits = 10, bias = 15;
};
template <>
struct Format<bf16> {
  static constexpr int fraction_bits = 7, bias = 127;
};

template <class Half>
class HalfTest : public testing::Test {
 protected:
  static constexpr int kFractionBits = Format<Half>::fraction_bits;
  static constexpr uint32_t kInfinityBits = 0x7FFFU >> kFractionBits << kFractionBits;

  // The value of a pattern without its sign; for the infinity pattern, what would come after the largest
  // number.
  static double magnitude(uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> kFractionBits);
    const double fraction = bits & ((1U << kFractionBits) - 1);
    const double implicit = exponent == 0 ? 0 : std::ldexp(1.0, kFractionBits);
    return std::ldexp(implicit + fraction, std::max(exponent, 1) - Format<Half>::bias - kFractionBits);
  }

  // Round to nearest, ties to even: find the neighbours by bisection, compare with the exact midpoint.
  static uint32_t nearest(float x) {
    const uint32_t sign = std::signbit(x) ? 0x8000U : 0;
    const double size = std::abs(static_cast<double>(x));
    if (size >= magnitude(kInfinityBits)) return sign | kInfinityBits;
    uint32_t below = 0;
    uint32_t above = kInfinityBits;
    while (above - below > 1) {
      const uint32_t middle = (below + above) / 2;
      (magnitude(middle) <= size ? below : above) = middle;
    }
    const double midpoint = (magnitude(below) + magnitude(above)) / 2;
    const bool up = size > midpoint || (size == midpoint && above % 2 == 0);
    return sign | (up ? above : below);
  }

  static void expect_nearest(float x) {
    ASSERT_EQ(from_float<Half>(x).bits, nearest(x))
        << std::hexfloat << x << ", bits " << std::bit_cast<uint32_t>(x);
  }
};
using Halves = testing::Types<fp16, bf16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = to_float(TypeParam{static_cast<uint16_t>(bits)});
    const uint32_t size = bits & 0x7FFFU;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000U) << bits;
    if (size > this->kInfinityBits) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else if (size == this->kInfinityBits) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_EQ(std::abs(static_cast<double>(value)), this->magnitude(size)) << bits;
    }
  }
}

TYPED_TEST(HalfTest, EveryPatternSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const uint16_t back = from_float<TypeParam>(to_float(TypeParam{static_cast<uint16_t>(bits)})).bits;
    if ((bits & 0x7FFFU) > this->kInfinityBits) {
      ASSERT_GT(back & 0x7FFFU, this->kInfinityBits) << bits;  // some NaN
      ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

// Between every two neighbours: the tie, and the floats on either side of it and of the numbers themselves.
TYPED_TEST(HalfTest, EveryBoundaryRoundsToNearestEven) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (uint32_t bits = 0; bits < this->kInfinityBits; ++bits) {
    const double low = this->magnitude(bits);
    const double tie = (low + this->magnitude(bits + 1)) / 2;
    for (double exact : {low, tie}) {
      const auto x =
          static_cast<float>(exact);  // bf16's ties below the smallest fp32 are rounded; still a float
      for (float near : {std::nextafter(x, 0.0F), x, std::nextafter(x, kInf)}) {
        this->expect_nearest(near);
        this->expect_nearest(-near);
      }
    }
  }
}

TYPED_TEST(HalfTest, RandomFloatsRoundToNearestEven) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(to_float(from_float<TypeParam>(x))));
    } else {
      this->expect_nearest(x);
    }
  }
}

// Every float exponent with fractions that lie at the edges of any 16-bit fraction.
TYPED_TEST(HalfTest, EdgesOfEveryExponent) {
  for (uint32_t exponent = 0; exponent <= 255; ++exponent) {
    for (int bit = 0; bit < 23; ++bit) {
      for (uint32_t fraction :
           {1U << bit, (1U << bit) - 1, (1U << bit) + 1, 0x7FFFFFU ^ (1U << bit), 0x7FFFFFU}) {
        const float x = std::bit_cast<float>(exponent << 23 | (fraction & 0x7FFFFFU));
        if (!std::isnan(x)) this->expect_nearest(x);
        if (!std::isnan(x)) this->expect_nearest(-x);
      }
    }
  }
}

TYPED_TEST(HalfTest, NaNStaysNaNWhateverItsPayload) {
  for (uint32_t payload : {1U, 2U, 0x1000U, 0x1FFFU, 0x8000U, 0xFFFFU, 0x3FFFFFU, 0x400000U, 0x7FFFFFU}) {
    for (uint32_t sign : {0U, 0x80000000U}) {
      const float nan = std::bit_cast<float>(sign | 0x7F800000U | payload);
      EXPECT_TRUE(std::isnan(to_float(from_float<TypeParam>(nan)))) << payload;
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::half_test

// SPDX-License-Identifier: MIT
// The vector exponential and the stores that round, on every instruction set of this machine.
#include "cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/exp2_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it:
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/convert-inl.h"
#include "cpu/exp2-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
bool exp2_all(float*, int64_t) { return false; }
bool round_all_fp16(const float*, int64_t, fp16*) { return false; }
bool round_all_bf16(const float*, int64_t, bf16*) { return false; }
bool widen_all_fp16(const fp16*, int64_t, float*) { return false; }
#else

// In place; the count is a multiple of any vector's length.
bool exp2_all(float* x, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes())
    hn::StoreU(exp2_bounded(hn::LoadU(Tag(), x + i)), Tag(), x + i);
  return true;
}
bool round_all_fp16(const float* from, int64_t count, fp16* to) {
  store_scaled(from, 1.0F, count, to);
  return true;
}
bool round_all_bf16(const float* from, int64_t count, bf16* to) {
  store_scaled(from, 1.0F, count, to);
  return true;
}
bool widen_all_fp16(const fp16* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += lanes()) hn::StoreU(load_fp32(Tag(), from + i), Tag(), to + i);
  return true;
}
#endif

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

namespace flashmoe::cpu {

HWY_EXPORT(exp2_all);
HWY_EXPORT(round_all_fp16);
HWY_EXPORT(round_all_bf16);
HWY_EXPORT(widen_all_fp16);

namespace {

constexpr int64_t kMostLanes = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Runs `test` once for each instruction set that the machine has and a kernel is compiled for.
template <class Test>
void on_every_target(const Test& test) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (target == HWY_SCALAR || target == HWY_EMU128) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<float> exp2_of(std::vector<float> x) {
  x.resize((x.size() + kMostLanes - 1) / kMostLanes * kMostLanes, 0.0F);
  HWY_DYNAMIC_DISPATCH(exp2_all)(x.data(), static_cast<int64_t>(x.size()));
  return x;
}

TEST(Exp2, IsRightToTwoUnitsInTheLastPlace) {
  on_every_target([] {
    std::vector<float> x;
    for (float value = 0; value > -126.4F; value -= 0.000937F) x.push_back(value);
    const std::vector<float> y = exp2_of(x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp2(static_cast<double>(x[i]));
      const double error = std::abs(y[i] - exact) / exact;
      if (!(error <= worst)) worst = error;
    }
    EXPECT_LE(worst, 0x1p-22);
  });
}

TEST(Exp2, IsExactWhereSoftmaxReliesOnIt) {
  on_every_target([] {
    const std::vector<float> y =
        exp2_of({0.0F, -0.0F, -1.0F, -126.0F, -126.6F, -1e4F, -3e38F, -kInfinity, kNan, -kNan});
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 1.0F);
    EXPECT_EQ(y[2], 0.5F);
    EXPECT_EQ(y[3], 0x1p-126F);
    for (int i = 4; i < 8; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], 0.0F) << i;
    EXPECT_TRUE(std::isnan(y[8]));
    EXPECT_TRUE(std::isnan(y[9]));
  });
}

// Floats around everything that matters to a 16-bit type: each of its values, and the ties between them.
std::vector<float> awkward_floats() {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (uint32_t low : {0x0U, 0x1U, 0xFFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U}) {
      x.push_back(std::bit_cast<float>(bits << 16 | low));
    }
  }
  for (float value : {65504.0F, 65519.996F, 65520.0F, 5.9604645e-8F, 2.9802322e-8F, 2.9802326e-8F, 6.1e-5F}) {
    x.push_back(value);
    x.push_back(-value);
  }
  return x;
}

TEST(Convert, RoundsAsTheScalarConversionsDo) {
  const std::vector<float> x = awkward_floats();
  const auto count = static_cast<int64_t>(x.size());
  on_every_target([&] {
    std::vector<fp16> half(x.size());
    std::vector<bf16> brain(x.size());
    HWY_DYNAMIC_DISPATCH(round_all_fp16)(x.data(), count, half.data());
    HWY_DYNAMIC_DISPATCH(round_all_bf16)(x.data(), count, brain.data());
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float half_value = to_float(half[i]);
      const float brain_value = to_float(brain[i]);
      const bool good = std::isnan(x[i])
                            ? std::isnan(half_value) && std::isnan(brain_value)
                            : half[i].bits == to_fp16(x[i]).bits && brain[i].bits == to_bf16(x[i]).bits;
      if (!good && wrong++ == 0) ADD_FAILURE() << x[i] << " became " << half_value << " and " << brain_value;
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST(Convert, WidensEveryFp16) {
  on_every_target([] {
    std::vector<fp16> half(0x10000);
    for (uint32_t i = 0; i < half.size(); ++i) half[i].bits = static_cast<uint16_t>(i);
    std::vector<float> wide(half.size());
    HWY_DYNAMIC_DISPATCH(widen_all_fp16)(half.data(), static_cast<int64_t>(half.size()), wide.data());
    for (std::size_t i = 0; i < half.size(); ++i) {
      const float expected = to_float(half[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(wide[i])) << i;
      } else {
        EXPECT_EQ(wide[i], expected) << i;
      }
    }
  });
}

}  // namespace
}  // namespace flashmoe::cpu

#endif

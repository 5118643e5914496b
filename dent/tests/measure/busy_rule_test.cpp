// SPDX-License-Identifier: MIT
// Verdicts on a busy machine, from fixed numbers: no clock is read.
#include "measure/busy_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "measure/disturbance.h"

namespace dent::busy_rule_test {
namespace {

constexpr Disturbance kBusy{.processors = 2, .others = 1.5, .waited = 0.3};
constexpr double kNs = 500e3;

// 64 pairs whose candidate takes `slowdown` times as long. On each side, every `every`-th batch was
// interrupted for `waited` times its length, and the interruption was counted as waiting.
struct Interrupted {
  int every = 0;
  double waited = 0;
};
std::vector<Pair> pairs(double slowdown, Interrupted baseline, Interrupted candidate) {
  std::vector<Pair> taken;
  for (int i = 1; i <= 64; ++i) {
    const double noise = 1 + 1e-4 * ((i * 37) % 11 - 5);
    const auto sample = [&](double ns, const Interrupted& by) {
      const double waited = by.every > 0 && i % by.every == 0 ? by.waited * ns : 0;
      return Sample{.ns = ns + waited, .calls = 1, .waited_ns = waited};
    };
    taken.push_back({sample(kNs * noise, baseline), sample(kNs * slowdown, candidate), i % 2 == 0});
  }
  return taken;
}

struct Told {
  Ratio plain, charged;
  Doubt taken;
  SpeedVerdict verdict;
  bool too_busy;
};
Told told(const std::vector<Pair>& pairs, const Disturbance& disturbance = kBusy) {
  const Ratio plain = paired_ratio(pairs, 0.05).value();
  const Doubt taken = doubt_of(pairs, 0.05, disturbance);
  ShapeSpeed shape{.ratio = widened(plain, taken), .taken = taken, .busy = true};
  shape.verdict = judge(shape.ratio, 0.01);
  return {plain, *shape.ratio, taken, shape.verdict, too_busy_to_tell(shape, 0.01)};
}

TEST(BusyRule, WhatNoThreadWaitedForWidensNothing) {
  const Told slower = told(pairs(1.03, {}, {}));
  EXPECT_EQ(slower.taken, Doubt{});
  EXPECT_EQ(slower.charged, slower.plain);
  EXPECT_EQ(slower.verdict, SpeedVerdict::slower);
  EXPECT_FALSE(slower.too_busy);
  EXPECT_EQ(told(pairs(1, {}, {})).verdict, SpeedVerdict::same);
}

// Interrupting one batch in eight hardly changes the median or the bound.
TEST(BusyRule, AFewInterruptionsLeaveAVerdictStanding) {
  const Told slower = told(pairs(1.03, {8, 2}, {8, 2}));
  EXPECT_EQ(slower.verdict, SpeedVerdict::slower);
  EXPECT_LT(slower.taken.low, 0.01);
  EXPECT_LT(slower.taken.high, 0.01);
}

// The baseline waited in each batch, which explains the whole apparent gain.
TEST(BusyRule, ChargesWhatTheBaselineWaitedForAgainstAGain) {
  const Told gain = told(pairs(1, {1, 0.05}, {}));
  EXPECT_GT(gain.plain.interval.low, 1.04);
  EXPECT_NEAR(gain.taken.low, 0.05, 1e-3);
  EXPECT_EQ(gain.taken.high, 0);
  EXPECT_LE(gain.charged.interval.low, 1.0001);
  EXPECT_EQ(gain.charged.interval.high, gain.plain.interval.high);
  EXPECT_EQ(gain.charged.centre, gain.plain.centre);
  EXPECT_EQ(gain.verdict, SpeedVerdict::ambiguous);
  EXPECT_TRUE(gain.too_busy);
  EXPECT_EQ(in_words(gain.verdict, true, gain.too_busy), "BUSY MACHINE");
}

TEST(BusyRule, AGainBeyondWhatTheBaselineWaitedForStands) {
  const Told gain = told(pairs(0.5, {1, 0.3}, {}));
  EXPECT_GT(gain.charged.interval.low, 1.99);
  EXPECT_EQ(gain.verdict, SpeedVerdict::faster);
  EXPECT_EQ(in_words(gain.verdict, true, gain.too_busy), "FASTER on a busy machine");
  EXPECT_EQ(in_words(gain.verdict, false, false), "FASTER");
}

TEST(BusyRule, ChargesWhatTheCandidateWaitedForAgainstALoss) {
  const Told loss = told(pairs(1, {}, {1, 0.05}));
  EXPECT_LT(loss.plain.interval.high, 0.96);
  EXPECT_EQ(loss.taken.low, 0);
  EXPECT_NEAR(loss.taken.high, 0.05, 1e-3);
  EXPECT_EQ(loss.charged.interval.low, loss.plain.interval.low);
  EXPECT_TRUE(loss.too_busy);
  EXPECT_EQ(told(pairs(1.5, {}, {1, 0.05})).verdict, SpeedVerdict::slower);
}

// A candidate whose threads keep each other waiting, or that reports false waiting times, gains nothing.
TEST(BusyRule, ACandidateGainsNothingByWaiting) {
  const Told honest = told(pairs(0.98, {}, {}));
  std::vector<Pair> boasted = pairs(0.98, {}, {});
  for (Pair& pair : boasted) pair.candidate.waited_ns = 100 * pair.candidate.ns;
  EXPECT_EQ(told(boasted).charged.interval.low, honest.charged.interval.low);
  EXPECT_EQ(told(boasted).charged.centre, honest.charged.centre);
}

// Both sides waited: each end of the interval is charged with one of them.
TEST(BusyRule, SameStandsOnlyIfEitherSideCouldHaveLostThatMuch) {
  const Told noticed = told(pairs(1, {1, 0.05}, {1, 0.05}));
  EXPECT_EQ(judge(noticed.plain, 0.01), SpeedVerdict::same);
  EXPECT_NEAR(noticed.taken.low, 0.05, 1e-3);
  EXPECT_NEAR(noticed.taken.high, 0.05, 1e-3);
  EXPECT_EQ(noticed.verdict, SpeedVerdict::ambiguous);
  EXPECT_TRUE(noticed.too_busy);
  const Told slight = told(pairs(1, {1, 0.002}, {1, 0.002}));
  EXPECT_EQ(slight.verdict, SpeedVerdict::same);
  EXPECT_EQ(in_words(slight.verdict, true, slight.too_busy), "SAME on a busy machine");
}

// The waiting time is unknown if threads have ended, or if the system does not count it.
TEST(BusyRule, WhereWaitingIsNotKnownAllThatOthersHadIsCharged) {
  std::vector<Pair> unknown = pairs(0.5, {}, {});
  for (Pair& pair : unknown) pair.baseline.waited_ns = pair.candidate.waited_ns = std::nullopt;
  const Told twice = told(unknown);
  EXPECT_TRUE(twice.too_busy);
  EXPECT_NEAR(twice.taken.low, 99, 1e-6);
  EXPECT_NEAR(twice.taken.high, 99, 1e-6);
  EXPECT_NEAR(told(unknown, {.processors = 2, .others = 0.1, .waited = 0.1}).taken.low, 0.25, 1e-6);
  EXPECT_EQ(told(unknown, {.processors = 2, .others = 0.1}).verdict, SpeedVerdict::faster);
  EXPECT_NEAR(told(unknown, {.processors = 2, .others = std::nan("")}).taken.low, 99, 1e-6);
}

// The interval excludes 1, but its centre counts as equal: ambiguous on any machine, busy or not.
TEST(BusyRule, WhatIsAmbiguousOnAnyMachineIsNotTheMachines) {
  const Ratio beside{1.008, {1.002, 1.014}}, wide{1.008, {0.95, 1.07}};
  EXPECT_FALSE(too_busy_to_tell({.ratio = beside, .busy = true}, 0.01));
  EXPECT_TRUE(too_busy_to_tell({.ratio = wide, .busy = true}, 0.01));
  EXPECT_FALSE(too_busy_to_tell({.ratio = wide, .busy = false}, 0.01));
  EXPECT_TRUE(too_busy_to_tell({.busy = true}, 0.01));  // too few pairs
}

TEST(BusyRule, NoNumberIsNoDoubt) {
  const Ratio ratio{1, {0.9, 1.1}};
  for (const double share : {std::nan(""), -0.1, HUGE_VAL}) {
    EXPECT_THROW(widened(ratio, {share, 0}), Error) << share;
    EXPECT_THROW(widened(ratio, {0, share}), Error) << share;
    std::vector<Pair> broken = pairs(1, {}, {});
    broken[5].baseline.waited_ns = share;
    EXPECT_THROW(doubt_of(broken, 0.05, kBusy), Error) << share;
  }
}

ShapeSpeed shape(double low, double centre, double high, Doubt taken = {}, bool busy = true) {
  ShapeSpeed shape{.ratio = widened({centre, {low, high}}, taken), .taken = taken, .busy = busy};
  shape.verdict = judge(shape.ratio, 0.01);
  return shape;
}

TEST(BusyRule, OverShapes) {
  const ShapeSpeed clear = shape(1.9, 2, 2.1, {0.3, 0.3}), hidden = shape(1.02, 1.04, 1.06, {0.3, 0.3}),
                   quiet = shape(0.45, 0.5, 0.55, {}, false);
  ASSERT_EQ(hidden.verdict, SpeedVerdict::ambiguous);
  EXPECT_EQ(over_shapes(std::vector{clear}, 0.01).verdict, SpeedVerdict::faster);
  EXPECT_TRUE(over_shapes(std::vector{clear}, 0.01).busy);
  EXPECT_FALSE(over_shapes(std::vector{clear}, 0.01).too_busy);
  EXPECT_TRUE(over_shapes(std::vector{hidden}, 0.01).too_busy);
  // The mean is clear without the shape that the busy machine left open.
  EXPECT_EQ(over_shapes(std::vector{clear, clear, hidden}, 0.01).verdict, SpeedVerdict::faster);
  EXPECT_FALSE(over_shapes(std::vector{clear, clear, hidden}, 0.01).too_busy);
  // Twice as fast on one shape and half as fast on another: ambiguous on any machine.
  const WholeSpeed even = over_shapes(std::vector{clear, quiet}, 0.01);
  EXPECT_EQ(even.verdict, SpeedVerdict::ambiguous);
  EXPECT_FALSE(even.too_busy);
  EXPECT_FALSE(over_shapes(std::vector{quiet}, 0.01).busy);
  const WholeSpeed few = over_shapes(std::vector{clear, ShapeSpeed{.busy = true}}, 0.01);
  EXPECT_FALSE(few.mean);
  EXPECT_TRUE(few.too_busy);
}

}  // namespace
}  // namespace dent::busy_rule_test

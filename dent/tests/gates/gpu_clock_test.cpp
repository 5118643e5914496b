// SPDX-License-Identifier: MIT
#include "gates/performance/gpu_clock.h"

#include <gtest/gtest.h>

#include "report/clock_words.h"

namespace dent::gpu_clock_test {
namespace {

ClockTrial calls_of(double ns) {
  return {.ns = ns, .host_ns = 3100, .events_floor_ns = 3660, .graph_floor_ns = 560, .not_captured = {}};
}

TEST(GpuClock, ShortKernelsAreTimedInAGraph) {
  ClockTrial slower = calls_of(8700);
  slower.host_ns = 4200;
  const record::Clock clock = choose_gpu_clock(calls_of(5600), slower);
  EXPECT_EQ(clock.by, TimedBy::graph);
  EXPECT_EQ(clock.floor_ns, 560);
  EXPECT_EQ(clock_in_words(clock),
            "graph: an empty kernel reads 0.56 us; a call costs the host 3.10 us, the baseline's 4.20 us");
}

TEST(GpuClock, LongKernelsAreTimedByEvents) {
  const record::Clock clock = choose_gpu_clock(calls_of(800e3), calls_of(900e3));
  EXPECT_EQ(clock.by, TimedBy::events);
  EXPECT_EQ(clock.floor_ns, 3660);
  EXPECT_EQ(clock.why, "");
}

// Timed by events, these calls would include time in which the GPU waits for the host.
TEST(GpuClock, LongCallsThatTheHostTakesAsLongToMakeAreTimedInAGraph) {
  ClockTrial many_launches = calls_of(800e3);
  many_launches.host_ns = 500e3;
  EXPECT_EQ(choose_gpu_clock(many_launches, calls_of(900e3)).by, TimedBy::graph);
  EXPECT_EQ(choose_gpu_clock(calls_of(900e3), many_launches).by, TimedBy::graph);
}

// Both sides use the same clock, since the clocks' floors differ.
TEST(GpuClock, BothSidesAreTimedByEventsWhereOneCantBeCaptured) {
  ClockTrial waits = calls_of(5600);
  waits.not_captured = "it waits";
  waits.graph_floor_ns = 0;
  EXPECT_EQ(choose_gpu_clock(waits, calls_of(8700)).by, TimedBy::events);
  EXPECT_EQ(choose_gpu_clock(waits, calls_of(8700)).why,
            "the candidate's calls can't be in a graph: it waits");
  const record::Clock other = choose_gpu_clock(calls_of(5600), waits);
  EXPECT_EQ(other.by, TimedBy::events);
  EXPECT_EQ(
      clock_in_words(other),
      "events: an empty kernel reads 3.66 us; a call costs the host 3.10 us, the baseline's 3.10 us; the "
      "other side's calls can't be in a graph: it waits");
}

// A copy from pageable memory in each call: 1.8 ms on the host for 0.5 ms on the GPU.
TEST(GpuClock, ACallThatWaitsForTheHostTakesItsTime) {
  ClockTrial waits = calls_of(547e3);
  waits.host_ns = 1825e3;
  waits.not_captured = "it waits";
  EXPECT_TRUE(takes_the_hosts_time(choose_gpu_clock(waits, calls_of(547e3))));
  EXPECT_TRUE(takes_the_hosts_time(choose_gpu_clock(calls_of(547e3), waits)));
  EXPECT_FALSE(takes_the_hosts_time(choose_gpu_clock(calls_of(547e3), calls_of(547e3))));
  waits.not_captured = "";
  EXPECT_FALSE(takes_the_hosts_time(choose_gpu_clock(waits, waits)));  // a graph needs no host
}

TEST(GpuClock, AFloorThatIsNotKnownMakesNoKernelLong) {
  ClockTrial unknown = calls_of(900e3);
  unknown.events_floor_ns = 0;
  unknown.not_captured = "no driver for it";
  EXPECT_EQ(clock_in_words(choose_gpu_clock(unknown, unknown)),
            "events: its floor is not known; a call costs the host 3.10 us, the baseline's 3.10 us; the "
            "candidate's calls can't be in a graph: no driver for it");
}

// Two products of 345 us with made inputs once occupied a GPU for 46 s each to reach 0.1 %.
TEST(GpuClock, AStretchOfInputsThatAreMadeIsNoLongerThanItHasToBe) {
  SamplingPolicy made, filled;
  sample_on_gpu(made, {.by = TimedBy::events}, true);
  sample_on_gpu(filled, {.by = TimedBy::events}, false);
  EXPECT_LE(made.spread_ns, made.min_sample_ns);
  EXPECT_GT(filled.spread_ns, filled.min_sample_ns);
}

}  // namespace
}  // namespace dent::gpu_clock_test

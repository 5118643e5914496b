// SPDX-License-Identifier: MIT
// Verdicts on speed: over all shapes, on a busy machine, and against recorded baselines. Kernels take the
// time that a script sets (dent/tests/support/scripted).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gates/baseline/book.h"
#include "gates/bench.h"
#include "gates/performance/starts.h"
#include "gates/performance/summary.h"
#include "gates/performance/watch.h"

namespace dent::speed_test {
namespace {

using test::Bench;

record::Comparison shape_of(double low, double centre, double high) {
  record::Comparison comparison;
  comparison.ratio = Ratio{centre, {low, high}};
  comparison.verdict = judge(comparison.ratio, 0.01);
  return comparison;
}

// An unconfirmed clock that may run at 0.8 of its speed: a ratio of 1.22 may be no gain, on every shape.
TEST(Summary, WhatIsDoubtfulOnEveryShapeIsDoubtfulOverAll) {
  const std::vector<record::Comparison> shapes(6, shape_of(0.98, 1.22, 1.23));
  for (const record::Comparison& shape : shapes) ASSERT_EQ(shape.verdict, SpeedVerdict::ambiguous);
  const GateResult result = summarize(shapes, {});
  ASSERT_NE(result.failed(), nullptr) << result.reason();
  EXPECT_EQ(result.failed()->cause, Cause::ambiguous);
  const auto* summary = result.last<record::Summary>();
  EXPECT_EQ(summary->verdict, SpeedVerdict::ambiguous);
  EXPECT_DOUBLE_EQ(summary->ratio->interval.low, 0.98);
  EXPECT_DOUBLE_EQ(summary->ratio->interval.high, 1.23);
}

TEST(Summary, TheWholeIsNotFasterUnlessAShapeIs) {
  const std::vector shapes{shape_of(1.002, 1.008, 1.03), shape_of(0.999, 1.05, 1.1)};
  EXPECT_EQ(summarize(shapes, {}).last<record::Summary>()->verdict, SpeedVerdict::ambiguous);
  EXPECT_EQ(summarize({shapes[0], shape_of(1.04, 1.05, 1.1)}, {}).last<record::Summary>()->verdict,
            SpeedVerdict::faster);
}

TEST(Summary, ShapesCountByTheirWeights) {
  std::vector shapes{shape_of(1.9, 2, 2.1), shape_of(0.4, 0.5, 0.6)};
  EXPECT_FALSE(summarize(shapes, {}).last<record::Summary>()->weighted);
  EXPECT_NEAR(summarize(shapes, {}).last<record::Summary>()->ratio->centre, 1, 1e-12);
  shapes[0].weight = 3;
  const GateResult result = summarize(shapes, {});
  const auto* summary = result.last<record::Summary>();
  EXPECT_TRUE(summary->weighted);
  EXPECT_NEAR(summary->ratio->centre, std::sqrt(2), 1e-12);
  EXPECT_NEAR(summary->ratio->interval.low, std::pow(1.9, 0.75) * std::pow(0.4, 0.25), 1e-12);
  EXPECT_EQ(summary->verdict, SpeedVerdict::faster);
  EXPECT_NE(result.reason().find("weighted geometric mean over 2 shapes"), std::string::npos);
}

TEST(Summary, ABusyMachineHasACauseOfItsOwnAndIsOnRecord) {
  for (const double centre : {0.9, 1.0, 1.1}) {
    record::Comparison shape = shape_of(0.8 * centre, centre, 1.2 * centre);
    shape.disturbance = Disturbance{.processors = 2, .others = 1.5, .waited = 0.3};
    shape.busy = true;
    const GateResult result = summarize({shape_of(0.999, 1, 1.001), shape}, {});
    ASSERT_NE(result.failed(), nullptr);
    EXPECT_EQ(result.failed()->cause, Cause::busy_machine);
    EXPECT_NE(result.reason().find("busy machine: other programs had 1.5 of 2"), std::string::npos);
    EXPECT_TRUE(result.last<record::Summary>()->busy);
  }
}

// The time box is too short for enough samples, so an idle machine would not help.
TEST(Summary, TooFewSamplesOnABusyMachineNeedMoreTime) {
  record::Comparison shape;
  shape.disturbance = Disturbance{.processors = 2, .others = 1.5, .waited = 0.3};
  shape.busy = true;
  EXPECT_NE(summarize({shape}, {}).next().find("raise performance.seconds"), std::string::npos);
  shape.ratio = Ratio{1, {0.9, 1.1}};
  EXPECT_EQ(summarize({shape}, {}).next().find("performance.seconds"), std::string::npos);
}

TEST(Watch, WhatIsNotOursIsOthers) {
  ProcessorUse start, end;
  start.processors = end.processors = 2;
  end.at_s = 2;
  end.busy_s = 3.5;
  end.ours_s = 1.5;
  end.ran_s = 1.5;
  end.waited_s = 0.5;
  end.switches = 7;
  const Disturbance found = between(start, end);
  EXPECT_DOUBLE_EQ(found.others, 1);
  EXPECT_DOUBLE_EQ(found.waited, 0.25);
  EXPECT_EQ(found.switches, 7);
}

// Eight threads of one kernel on two processors, without other programs, wait for each other only.
TEST(Watch, ThreadsThatWaitForEachOtherAreNotDisturbed) {
  ProcessorUse start, end;
  start.processors = end.processors = 2;
  end.at_s = 1;
  end.busy_s = end.ours_s = end.ran_s = 2;
  end.waited_s = 6;
  EXPECT_EQ(between(start, end).waited, 0);
  EXPECT_FALSE(is_busy(between(start, end)));
  EXPECT_EQ(between(end, start), (Disturbance{.processors = 2}));  // counters may fall when threads end
}

constexpr QuietRule kNeverBusy{.others = 1e9, .waited = 1e9}, kAlwaysBusy{.others = -1, .waited = -1};

TEST(PerformanceGate, SaysThatTheMachineWasBusy) {
  Bench bench("slow");
  bench.quiet = kAlwaysBusy;
  const GateResult result = bench.ask(performance_gate());
  const auto* comparison = result.last<record::Comparison>();
  ASSERT_NE(comparison, nullptr) << result.reason();
  EXPECT_TRUE(comparison->busy);
  ASSERT_TRUE(comparison->disturbance);
  EXPECT_GE(comparison->disturbance->processors, 1);
  EXPECT_NE(result.reason().find("busy machine: "), std::string::npos) << result.reason();
  if (const Failed* how = result.failed()) {
    EXPECT_EQ(how->cause, Cause::slower) << result.reason();  // more than others can explain
  }
  bench.quiet = kNeverBusy;
  EXPECT_FALSE(bench.ask(performance_gate()).last<record::Comparison>()->busy);
}

record::Comparison claimed(double centre) {
  record::Comparison comparison = shape_of(centre - 0.001, centre, centre + 0.001);
  comparison.alpha = 0.05;
  comparison.same_within = 0.01;
  comparison.baseline_ns = comparison.candidate_ns = 180;
  return comparison;
}

// Two copies of one program differed by 1.043x in one start; other starts show no difference.
TEST(Starts, ADifferenceThatOtherStartsDoNotShowIsNone) {
  record::Comparison comparison = claimed(1.043);
  ASSERT_EQ(comparison.verdict, SpeedVerdict::faster);
  conclude_over_starts(comparison, std::vector{0.042, -0.021, 0.004, 0.031, -0.035, 0.002});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
  EXPECT_EQ(comparison.starts, 6);
  EXPECT_TRUE(comparison.ratio->interval.contains(1));
  EXPECT_NE(comparison.reason.find("gave 0.966x to 1.043x"), std::string::npos) << comparison.reason;
}

TEST(Starts, ADifferenceThatAllStartsShowStays) {
  record::Comparison comparison = claimed(1.043);
  conclude_over_starts(comparison, std::vector{0.042, 0.045, 0.039, 0.044, 0.05, 0.041});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::faster);
  EXPECT_NEAR(comparison.ratio->centre, std::exp(0.0435), 1e-9);
  comparison = claimed(1.043);
  comparison.doubt = Doubt{.low = 0.05, .high = 0};  // from a clock: equal for every start
  conclude_over_starts(comparison, std::vector{0.042, 0.045, 0.039, 0.044, 0.05, 0.041});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
}

// An H200 gave this for a convolution against itself; the reason must be about all starts.
TEST(Starts, WhatTheyLeaveOpenHasTheirReason) {
  record::Comparison comparison = claimed(0.9902);
  ASSERT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
  conclude_over_starts(comparison, std::vector{-0.0098, 0.01, 0.004, -0.003, 0.016, -0.002});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
  EXPECT_NE(comparison.reason.find("gave 0.990x to 1.016x"), std::string::npos) << comparison.reason;
}

// With six further starts of the same kind, the interval over twelve is narrow enough for a verdict.
TEST(Starts, WhatSixLeaveOpenTwelveMayTell) {
  std::vector logs{-0.0098, 0.01, 0.004, -0.003, 0.012, -0.002};
  record::Comparison comparison = claimed(0.9902);
  conclude_over_starts(comparison, logs);
  ASSERT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
  const std::vector more{-0.004, 0.006, 0.001, -0.007, 0.003, -0.002};
  logs.insert(logs.end(), more.begin(), more.end());
  conclude_over_starts(comparison, logs);
  EXPECT_EQ(comparison.verdict, SpeedVerdict::same) << comparison.reason;
  EXPECT_EQ(comparison.starts, 12);
}

// Two equally fast programs whose starts scatter: three looks together miss no more often than promised.
TEST(Starts, ThreeLooksMissNoMoreOftenThanPromised) {
  std::mt19937_64 random(11);
  constexpr int kTrials = 4000;
  for (const double scatter : {0.004, 0.01, 0.03}) {
    std::normal_distribution<double> start(0, scatter);
    int missed = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> logs;
      bool contained = true;
      for (const int look : kLooksAtStarts) {
        while (static_cast<int>(logs.size()) < look) logs.push_back(start(random));
        record::Comparison comparison = claimed(1.043);
        conclude_over_starts(comparison, logs);
        contained = contained && comparison.ratio->interval.contains(1);
      }
      missed += contained ? 0 : 1;
    }
    EXPECT_LE(missed, kTrials * 5 / 100) << scatter;
  }
}

TEST(Starts, AreAskedForWhereTheyMayMatter) {
  const protocol::Loaded native, python{protocol::WorkerKind::python, DeviceKind::cpu, {}};
  EXPECT_TRUE(may_be_where_they_lie(claimed(1.043), native, native));
  EXPECT_TRUE(may_be_where_they_lie(claimed(0.95), native, native));
  EXPECT_FALSE(may_be_where_they_lie(claimed(1.5), native, native));
  EXPECT_FALSE(may_be_where_they_lie(claimed(1.0), native, native));
  EXPECT_FALSE(may_be_where_they_lie(claimed(1.043), native, python));
  const protocol::Loaded gpu{protocol::WorkerKind::python, DeviceKind::cuda, {}};
  EXPECT_TRUE(may_be_where_they_lie(claimed(0.968), gpu, gpu));
  EXPECT_FALSE(may_be_where_they_lie(claimed(1.1), gpu, gpu));  // on an H200, placement explains about 3 %
  EXPECT_FALSE(may_be_where_they_lie(claimed(0.968), gpu, python));
  record::Comparison by_host = claimed(0.859);  // measured for a reference against itself
  by_host.clock = {.candidate_host_ns = 1825e3, .candidate_events_ns = 547e3};
  EXPECT_TRUE(may_be_where_they_lie(by_host, gpu, gpu));
  by_host.clock->candidate_host_ns = 0;
  EXPECT_FALSE(may_be_where_they_lie(by_host, gpu, gpu));
  const record::Comparison beside = shape_of(0.986, 0.9904, 0.993), across = shape_of(0.96, 1, 1.04);
  ASSERT_EQ(beside.verdict, SpeedVerdict::ambiguous);
  EXPECT_TRUE(may_be_where_they_lie(beside, gpu, gpu));
  EXPECT_FALSE(may_be_where_they_lie(beside, native, native));
  EXPECT_FALSE(may_be_where_they_lie(across, gpu, gpu));
  record::Comparison of_a_loop = claimed(1.043), of_long_calls = claimed(1.043);
  of_a_loop.against = Against::incumbent;
  of_long_calls.candidate_ns = 2e6;
  EXPECT_FALSE(may_be_where_they_lie(of_a_loop, native, native));
  EXPECT_FALSE(may_be_where_they_lie(of_long_calls, native, native));
}

TEST(PerformanceGate, ASmallDifferenceIsOneOfSeveralStarts) {
  Bench bench("takes_115", "takes_100");
  bench.quiet = kNeverBusy;
  const GateResult result = bench.ask(performance_gate());
  const auto* comparison = result.last<record::Comparison>();
  ASSERT_NE(comparison, nullptr) << result.reason();
  EXPECT_EQ(comparison->starts, kLooksAtStarts.front()) << result.reason();
  EXPECT_NE(result.reason().find(fmt::format("over {} starts", comparison->starts)), std::string::npos)
      << result.reason();
  EXPECT_EQ(comparison->verdict, SpeedVerdict::slower) << result.reason();
  EXPECT_NEAR(comparison->ratio->centre, 200.0 / 230, 0.01) << result.reason();
}

TEST(BaselineBook, StartsThatDifferAreAllowedTo) {
  Fastest before;
  for (const double ns : {1000.0, 1080.0, 1050.0}) before.add_start(ns);
  EXPECT_EQ(before.ns, 1000);
  EXPECT_NEAR(before.spread, 0.08, 1e-12);
  EXPECT_EQ(reproduced(before, {1130, 0}, 0.1), Reproduced::yes);
  EXPECT_EQ(reproduced(before, {1190, 0}, 0.1), Reproduced::slower);
  EXPECT_EQ(reproduced(before, {1190, 0.02}, 0.1), Reproduced::yes);
  EXPECT_EQ(reproduced({1000, 0}, {1130, 0}, 0.1), Reproduced::slower);
  EXPECT_EQ(reproduced({1500, 0}, {1000, 0}, 0.1), Reproduced::faster);
}

class RecordedBaseline : public ::testing::Test {
 protected:
  Bench bench{"right", "right", "baseline_within = 1000\n"};
  std::filesystem::path file() const { return bench.store.folder() / "baselines.json"; }
  Book book() const { return read_book(file()); }
  // Changes the record as if the baseline had taken `factor` times as long.
  void was(double factor) {
    Book changed = book();
    for (auto& [key, shapes] : changed.baselines) {
      for (auto& [shape, fastest] : shapes) fastest.ns *= factor;
    }
    write_book(file(), changed);
  }
};

TEST_F(RecordedBaseline, IsRecordedOnceAndForgottenWhenAsked) {
  bench.quiet = kNeverBusy;
  EXPECT_NE(bench.ask(baseline_gate()).reason().find("recorded for this machine"), std::string::npos);
  EXPECT_NE(bench.ask(baseline_gate()).reason().find("reproduces"), std::string::npos);
  EXPECT_NE(bench.ask(baseline_gate(), {.rebaseline = true}).reason().find("recorded"), std::string::npos);
}

TEST_F(RecordedBaseline, ABusyMachineRecordsNothingAndStopsNothing) {
  bench.quiet = kAlwaysBusy;
  const GateResult first = bench.ask(baseline_gate());
  ASSERT_NE(first.passed(), nullptr) << first.reason();
  EXPECT_NE(first.reason().find("nothing is recorded"), std::string::npos) << first.reason();
  EXPECT_NE(first.next().find("--rebaseline"), std::string::npos) << first.next();
  EXPECT_TRUE(book().baselines.empty());
  bench.quiet = kNeverBusy;
  bench.ask(baseline_gate());
  was(1e-6);
  bench.quiet = kAlwaysBusy;
  EXPECT_NE(bench.ask(baseline_gate()).passed(), nullptr);  // slower, but a busy machine explains it
}

TEST_F(RecordedBaseline, SlowerOnAQuietMachineStopsAndSaysHowToRecordAnew) {
  bench.quiet = kNeverBusy;
  bench.ask(baseline_gate());
  was(1e-6);
  const GateResult result = bench.ask(baseline_gate());
  ASSERT_NE(result.failed(), nullptr) << result.reason();
  EXPECT_EQ(result.failed()->cause, Cause::environment);
  EXPECT_NE(result.next().find("dent run --rebaseline"), std::string::npos);
}

// A time that was recorded under load must not block later sessions.
TEST_F(RecordedBaseline, FasterThanRecordedIsRecordedAnew) {
  bench.quiet = kNeverBusy;
  bench.ask(baseline_gate());
  was(1e6);
  const GateResult result = bench.ask(baseline_gate());
  ASSERT_NE(result.passed(), nullptr) << result.reason();
  EXPECT_NE(result.reason().find("the new time is recorded"), std::string::npos) << result.reason();
  EXPECT_NE(bench.ask(baseline_gate()).reason().find("reproduces"), std::string::npos);
}

}  // namespace
}  // namespace dent::speed_test

// SPDX-License-Identifier: MIT
// Runs each gate on real workers, with kernels that make every kind of mistake.
#include <gtest/gtest.h>

#include "gates/bench.h"
#include "gates/performance/loop_cost.h"

namespace dent::gates_test {
namespace {

using test::Bench;

TEST(CorrectnessGate, TellsEveryMistakeByItsCause) {
  struct Mistake {
    const char* entry;
    Cause cause;
  };
  for (const Mistake& mistake : {Mistake{"wrong", Cause::incorrect}, Mistake{"crashes", Cause::incorrect},
                                 Mistake{"hangs", Cause::timeout}, Mistake{"leaves", Cause::incorrect},
                                 Mistake{"refuses", Cause::incorrect}, Mistake{"hoards", Cause::incorrect},
                                 Mistake{"overruns", Cause::incorrect}}) {
    Bench bench(mistake.entry);
    const GateResult result = bench.ask(correctness_gate());
    ASSERT_NE(result.failed(), nullptr) << mistake.entry;
    EXPECT_EQ(result.failed()->cause, mistake.cause) << mistake.entry << ": " << result.reason();
    EXPECT_FALSE(result.reason().empty());
    EXPECT_FALSE(result.next().empty()) << mistake.entry;
  }
}

TEST(CorrectnessGate, PassesWhatIsRightWithItsFigures) {
  Bench bench("right");
  const GateResult result = bench.ask(correctness_gate());
  ASSERT_NE(result.passed(), nullptr) << result.reason();
  const auto* record = result.last<record::Correctness>();
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->shape, "tiny");
  EXPECT_GT(record->elements, 0);
  EXPECT_EQ(record->bad, 0);
  EXPECT_LE(record->worst_error(), record->bound);  // error and bound of the same element
  EXPECT_FALSE(record->held_out);
}

TEST(BaselineGate, AWrongOrDeadBaselineIsTheEnvironmentsFault) {
  for (const char* baseline : {"wrong", "crashes", "refuses"}) {
    Bench bench("right", baseline);
    const GateResult result = bench.ask(baseline_gate());
    ASSERT_NE(result.failed(), nullptr) << baseline;
    EXPECT_EQ(result.failed()->cause, Cause::environment) << baseline;
    EXPECT_FALSE(result.next().empty()) << baseline;
  }
}

TEST(BaselineGate, AnErrorThatMayBeRoundingNamesTheTolerance) {
  Bench bench("right", "wrong");
  const std::string next = bench.ask(baseline_gate()).next();
  EXPECT_NE(next.find("tolerance = { absolute = "), std::string::npos) << next;
}

TEST(PerformanceGate, AnOpponentThatDiesSaysNothingAboutTheCandidate) {
  Bench bench("right", "crashes");
  const GateResult result = bench.ask(performance_gate());
  ASSERT_NE(result.failed(), nullptr);
  EXPECT_EQ(result.failed()->cause, Cause::environment);
}

TEST(PerformanceGate, PutsSamplesAndComparisonOnRecord) {
  Bench bench("slow");
  const GateResult result = bench.ask(performance_gate());
  const auto* comparison = result.last<record::Comparison>();
  ASSERT_NE(comparison, nullptr) << result.reason();
  EXPECT_EQ(comparison->against, Against::baseline);
  EXPECT_NE(result.last<record::Samples>(), nullptr);
}

TEST(LoopCost, IsThatOfTheWorkersOwnLoop) {
  Bench bench("right");
  const double ns = loop_cost_ns(bench.workers, bench.workers.problems().front());
  EXPECT_GT(ns, 0);
  EXPECT_LT(ns, 1e6);
}

TEST(BuildGate, WhatDoesNotLoadDoesNotBuild) {
  Bench missing("no_such_function");
  const GateResult result = missing.ask(build_gate());
  ASSERT_NE(result.failed(), nullptr) << result.reason();
  EXPECT_EQ(result.failed()->cause, Cause::build);
  EXPECT_NE(result.next().find("entry = "), std::string::npos) << result.next();
}

TEST(SanitizeGate, ALibraryThatIsNotOursToBuildIsSkippedWithTheReason) {
  Bench bench("right");
  const GateResult result = bench.ask(sanitize_gate());
  EXPECT_EQ(result.verdict(), StepVerdict::skipped);
  EXPECT_FALSE(result.reason().empty());
}

}  // namespace
}  // namespace dent::gates_test

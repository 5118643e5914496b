// SPDX-License-Identifier: MIT
// A busy machine from the shapes to the exit code: the summary's words, the session's verdict, `dent
// compare`, and what the loop says. On made-up records: no kernel runs and no clock is read.
#include <gtest/gtest.h>

#include "evaluation/judge.h"
#include "gates/performance/starts.h"
#include "gates/performance/summary.h"
#include "records/json.h"
#include "report/session_change.h"
#include "session/conclude.h"

namespace dent::busy_session_test {
namespace {

record::Comparison measured(double low, double centre, double high, Doubt taken = {}) {
  record::Comparison comparison;
  comparison.shape = "tiny";
  comparison.same_within = 0.01;
  comparison.alpha = 0.05;
  comparison.baseline_ns = 1000 * centre;
  comparison.candidate_ns = 1000;
  comparison.ratio = widened({centre, {low, high}}, taken);
  comparison.verdict = judge(comparison.ratio, 0.01);
  comparison.disturbance = Disturbance{.processors = 2, .others = 1.5, .waited = 0.3};
  comparison.busy = true;
  comparison.taken = comparison.doubt = taken;
  comparison.too_busy = too_busy_to_tell(record::speed_of(comparison), 0.01);
  return comparison;
}

Conclusion concluded(const record::Comparison& comparison) {
  const GateResult sum = summarize({comparison}, {});
  SessionFacts facts;
  for (const AnyRecord& record : sum.records) facts.take({1, "t", "performance", record});
  facts.take({2, "t", "performance", to_record(sum, "performance")});
  return conclude("id", {{.name = "performance"}}, facts);
}

TEST(BusySession, AVerdictThatStandsHasItsOwnExitCodeAndSaysWhere) {
  const Conclusion faster = concluded(measured(2.9, 3, 3.1, {0.5, 0.5}));
  EXPECT_EQ(faster.verdict, Verdict::faster);
  EXPECT_EQ(static_cast<int>(faster.code), 0);
  EXPECT_NE(faster.reason.find("; on a busy machine: other programs had 1.5 of 2 processors"),
            std::string::npos)
      << faster.reason;
  EXPECT_EQ(static_cast<int>(concluded(measured(0.4, 0.5, 0.6, {0.2, 0.2})).code), 6);
  EXPECT_EQ(static_cast<int>(concluded(measured(0.999, 1, 1.001, {0.002, 0.002})).code), 0);
}

TEST(BusySession, WhatTheDisturbanceCouldExplainIsABusyMachine) {
  for (const auto& comparison : {measured(1.08, 1.1, 1.12, {0.2, 0.2}), measured(0.88, 0.9, 0.92, {0.2, 0.2}),
                                 measured(0.999, 1, 1.001, {0.1, 0.1}), measured(0.9, 1.02, 1.2)}) {
    const Conclusion end = concluded(comparison);
    EXPECT_EQ(end.verdict, Verdict::busy_machine) << end.reason;
    EXPECT_EQ(static_cast<int>(end.code), 15);
    EXPECT_EQ(end.reason.find("on a busy"), std::string::npos) << end.reason;
    EXPECT_NE(end.reason.find("busy machine: other programs had"), std::string::npos) << end.reason;
    EXPECT_NE(end.next.find("measure again"), std::string::npos);
  }
  const Conclusion any_machine = concluded(measured(1.002, 1.008, 1.014));
  EXPECT_EQ(any_machine.verdict, Verdict::ambiguous) << any_machine.reason;
}

TEST(BusySession, TheRecordSaysIt) {
  const record::Comparison stands = measured(2.9, 3, 3.1, {0.5, 0.25});
  const std::string json = to_json_text(stands);
  EXPECT_NE(json.find("\"busy\":true"), std::string::npos) << json;
  EXPECT_NE(json.find("\"taken\":{\"low\":0.5,\"high\":0.25}"), std::string::npos) << json;
  EXPECT_EQ(json.find("too_busy"), std::string::npos) << json;
  EXPECT_EQ(from_json_text<record::Comparison>(json), stands);
  EXPECT_EQ(record::verdict_words(stands), "FASTER on a busy machine");
  const record::Comparison hidden = measured(1.08, 1.1, 1.12, {0.2, 0.2});
  EXPECT_NE(to_json_text(hidden).find("\"too_busy\":true"), std::string::npos);
  EXPECT_EQ(record::verdict_words(hidden), "BUSY MACHINE");
}

TEST(BusySession, WhatWasTakenOfSeveralStartsIsInTheirInterval) {
  record::Comparison comparison = measured(1.04, 1.045, 1.05, {0.01, 0.01});
  conclude_over_starts(comparison, std::vector{0.042, 0.045, 0.039, 0.044, 0.05, 0.041});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::faster);
  comparison.doubt = comparison.taken = Doubt{0.1, 0.1};
  conclude_over_starts(comparison, std::vector{0.042, 0.045, 0.039, 0.044, 0.05, 0.041});
  EXPECT_EQ(comparison.verdict, SpeedVerdict::ambiguous);
  EXPECT_TRUE(too_busy_to_tell(record::speed_of(comparison), 0.01));
}

SessionView session_with(const record::Comparison& comparison) {
  SessionView view;
  view.comparisons = {comparison};
  return view;
}

TEST(BusySession, TwoSessionsAreComparedByTheSameRule) {
  const auto change = [](const record::Comparison& before, const record::Comparison& after) {
    return change_between(session_with(before), session_with(after), 0.01);
  };
  record::Comparison quiet = measured(0.999, 1, 1.001);
  quiet.busy = false;
  const SessionChange slower = change(quiet, measured(0.49, 0.5, 0.51, {0.3, 0.3}));
  EXPECT_EQ(slower.verdict, Verdict::regressed);
  EXPECT_TRUE(slower.busy);
  EXPECT_EQ(change(quiet, measured(0.89, 0.9, 0.91, {0.3, 0.3})).verdict, Verdict::busy_machine);
  EXPECT_EQ(change(measured(0.89, 0.9, 0.91, {0.3, 0.3}), quiet).verdict, Verdict::busy_machine);
  EXPECT_FALSE(change(quiet, quiet).busy);
}

// Of a loop that tries one change, all of whose trials say the same.
Outcome tried(const record::Comparison& comparison) {
  const std::vector<Shape> shapes{{"tiny", {}}};
  std::vector<GateResult> ended;
  for (;;) {
    const auto next = judge(ended, {}, shapes);
    if (const auto* outcome = std::get_if<Outcome>(&next)) return *outcome;
    const auto& trial = std::get<Trial>(next);
    GateResult result = passed("well");
    record::Comparison taken = comparison;
    if (taken.ratio) {  // starts differ a little: an interval over them needs a scatter
      const double factor = 1 + 1e-4 * trial.start;
      taken.ratio = Ratio{taken.ratio->centre * factor,
                          {taken.ratio->interval.low * factor, taken.ratio->interval.high * factor}};
    }
    if (trial.stage == TrialStage::screening || trial.stage == TrialStage::confirmation)
      result.records.emplace_back(taken);
    ended.push_back(std::move(result));
  }
}

TEST(BusySession, ALoopKeepsWhatABusyMachineCannotExplain) {
  const Outcome outcome = tried(measured(2.9, 3, 3.1, {0.5, 0.5}));
  EXPECT_TRUE(outcome.kept) << outcome.reason;
  EXPECT_FALSE(outcome.cause);
}

TEST(BusySession, ALoopSaysWhenTheMachineWasTheReason) {
  const Outcome hidden = tried(measured(1.08, 1.1, 1.12, {0.2, 0.2}));
  EXPECT_FALSE(hidden.kept);
  EXPECT_EQ(hidden.cause, Cause::busy_machine);
  EXPECT_TRUE(in_words(hidden).starts_with("not kept: the machine was too busy to tell (1.100x ("))
      << in_words(hidden);
  EXPECT_EQ(static_cast<int>(exit_code(*hidden.cause)), 15);
  record::Comparison few = measured(1, 1, 1);
  few.ratio.reset();
  EXPECT_EQ(tried(few).cause, Cause::busy_machine);
}

// A quiet machine would have dropped these too.
TEST(BusySession, ALoopDoesNotBlameTheMachineForWhatIsProved) {
  EXPECT_FALSE(tried(measured(0.45, 0.5, 0.55)).cause);      // slower
  EXPECT_FALSE(tried(measured(0.999, 1, 1.001)).cause);      // no gain worth a change
  EXPECT_FALSE(tried(measured(1.003, 1.004, 1.005)).cause);  // proved, and too little
  const Outcome loses = tried(measured(0.95, 0.96, 0.97, {0.001, 0.001}));
  EXPECT_EQ(loses.stage, TrialStage::guard);
  EXPECT_FALSE(loses.cause);
}

}  // namespace
}  // namespace dent::busy_session_test

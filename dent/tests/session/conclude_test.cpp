// SPDX-License-Identifier: MIT
// A failed gate is never a pass: for every cause, at every place of a plan.
#include "session/conclude.h"

#include <gtest/gtest.h>

namespace dent::conclude_test {
namespace {

const std::vector<Step> kPlan{
    {.name = "build"}, {.name = "correctness/tiny"}, {.name = "performance"}, {.name = "report"}};

Record gate(const std::string& step, StepVerdict verdict, std::optional<Cause> cause = {}) {
  return {1, "t", step,
          record::Gate{.step = step,
                       .verdict = verdict,
                       .cause = cause,
                       .reason = "why",
                       .next = "what",
                       .last_words = "",
                       .seed = ""}};
}

SessionFacts facts_with(const std::string& failed_step, std::optional<Cause> cause) {
  SessionFacts facts;
  for (const Step& step : kPlan) {
    facts.take(step.name == failed_step ? gate(step.name, StepVerdict::fail, cause)
                                        : gate(step.name, StepVerdict::pass));
  }
  return facts;
}

TEST(Conclude, AFailedGateIsNeverAPass) {
  for (const Word<Cause>& cause : kCauseWords) {
    for (const Step& step : kPlan) {
      const Conclusion end = conclude("id", kPlan, facts_with(step.name, cause.value));
      EXPECT_NE(end.code, ExitCode::ok) << cause.word << " at " << step.name;
      EXPECT_EQ(end.verdict, verdict_of(cause.value));
      EXPECT_FALSE(end.reason.empty());
      EXPECT_FALSE(name(end.verdict).empty());
    }
  }
}

TEST(Conclude, AFailedGateWithoutACauseIsNoPassEither) {
  EXPECT_EQ(conclude("id", kPlan, facts_with("build", std::nullopt)).code, ExitCode::environment);
}

TEST(Conclude, AStepWithoutARecordIsInterrupted) {
  for (const Step& missing : kPlan) {
    SessionFacts facts;
    for (const Step& step : kPlan) {
      if (step.name != missing.name) facts.take(gate(step.name, StepVerdict::pass));
    }
    const Conclusion end = conclude("id", kPlan, facts);
    EXPECT_EQ(end.verdict, Verdict::interrupted) << missing.name;
    EXPECT_NE(end.code, ExitCode::ok);
  }
}

TEST(Conclude, PassesWhenEveryStepHas) {
  EXPECT_EQ(conclude("id", kPlan, facts_with("", std::nullopt)).verdict, Verdict::pass);
}

TEST(Conclude, AComparisonSpeaksThroughItsSummary) {
  SessionFacts facts;
  for (const Step& step : kPlan) {
    if (step.name == "performance")
      facts.take(
          {1, "t", step.name, record::Summary{SpeedVerdict::same, Ratio{1, {0.99, 1.01}}, 2, "the same"}});
    facts.take(gate(step.name, StepVerdict::pass));
  }
  const Conclusion end = conclude("id", kPlan, facts);
  EXPECT_EQ(end.verdict, Verdict::same);
  EXPECT_EQ(end.reason, "the same");
  EXPECT_EQ(end.code, ExitCode::ok);
}

TEST(ExitCodes, AreAsTheTableForScriptsHasThem) {
  EXPECT_EQ(static_cast<int>(exit_code(Cause::environment)), 3);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::build)), 4);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::incorrect)), 5);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::slower)), 6);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::regressed)), 7);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::ambiguous)), 8);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::cheat)), 9);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::timeout)), 10);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::budget)), 11);
  EXPECT_EQ(static_cast<int>(exit_code(Verdict::missed)), 13);
  EXPECT_EQ(static_cast<int>(exit_code(Cause::busy_machine)), 15);
}

}  // namespace
}  // namespace dent::conclude_test

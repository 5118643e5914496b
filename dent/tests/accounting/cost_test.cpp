// SPDX-License-Identifier: MIT
#include "accounting/cost.h"

#include <gtest/gtest.h>

#include "accounting/step_name.h"

namespace dent::cost_test {
namespace {

TEST(StepName, TellsWhichIterationATrialIsOf) {
  EXPECT_EQ(iteration_of("003/screening/tiny"), 3);
  EXPECT_EQ(iteration_of("1234/build"), 1234);
  for (const char* step : {"", "build", "winner/003/gain/tiny", "diagnosis/003", "3rd/build"})
    EXPECT_FALSE(iteration_of(step)) << step;
}

TEST(StepName, TellsWhatAStepUses) {
  for (const char* step : {"build", "003/build", "winner/001/build"}) {
    EXPECT_TRUE(compiles(step)) << step;
    EXPECT_FALSE(runs_kernels(step)) << step;
  }
  for (const char* step : {"baseline", "correctness/tiny", "003/screening/tiny", "003/confirmation/2/tiny",
                           "winner/001/sanitize", "winner/001/held-out/gain/odd", "standing/002/tiny"}) {
    EXPECT_TRUE(runs_kernels(step)) << step;
    EXPECT_FALSE(compiles(step)) << step;
  }
  for (const char* step : {"", "preflight", "profile", "diagnosis/000", "report", "rebuilding"})
    EXPECT_FALSE(compiles(step) || runs_kernels(step)) << step;
}

// Users choose the names of shapes, so a shape may have a gate's name.
TEST(StepName, AShapeThatIsCalledLikeAGateIsStillAShape) {
  EXPECT_FALSE(compiles("correctness/build"));
  EXPECT_TRUE(runs_kernels("correctness/build"));
  EXPECT_FALSE(runs_kernels("profile/performance"));
}

Record at(const std::string& step, AnyRecord data) { return {1, "t", step, std::move(data)}; }
Record ended(const std::string& step, double seconds) {
  record::Gate gate;
  gate.step = step;
  gate.elapsed_s = seconds;
  return at(step, gate);
}

TEST(Cost, CountsStepsProposersAndWhatLayBetween) {
  record::Iteration iteration;
  iteration.proposal.proposer = "command";
  iteration.proposal.spend = {.seconds = 4, .usd = 0.5, .input_tokens = 100, .output_tokens = 10};
  record::Outcome outcome;
  outcome.outcome.kept = true;
  outcome.overhead_s = 0.5;
  const std::vector records{ended("build", 1), at("", iteration), ended("001/build", 2),
                            ended("001/screening/tiny", 8), at("", outcome)};
  const Cost cost = cost_of(records);
  EXPECT_DOUBLE_EQ(cost.wall_s, 15.5);
  EXPECT_DOUBLE_EQ(cost.build_s, 3);
  EXPECT_DOUBLE_EQ(cost.device_s, 8);
  EXPECT_DOUBLE_EQ(cost.agent_s, 4);
  EXPECT_EQ(cost.iterations, 1);
  EXPECT_EQ(cost.kept, 1);
  EXPECT_EQ(cost.input_tokens, 100);
  EXPECT_DOUBLE_EQ(cost.reported_usd, 0.5);
}

TEST(Cost, AMachineThatIsPaidForCostsItsUptimeAndEachStretchOnce) {
  record::Uptime uptime{.executor = "l4", .from = "a", .to = "b", .seconds = 1800, .usd_per_hour = 2};
  record::Uptime again = uptime;  // written by a dent that was killed before it noted the first
  again.seconds = 3600;
  record::Uptime later = uptime;
  later.from = "c";
  const std::vector records{ended("correctness/tiny", 60), at("", uptime), at("", again), at("", later)};
  const Cost cost = cost_of(records);
  EXPECT_DOUBLE_EQ(cost.machine_s, 5400);
  EXPECT_DOUBLE_EQ(money_of(cost, {.device_usd_per_hour = 100}).device, 3);  // gates cost nothing more
}

TEST(Cost, RatesAreThoseThatHeldWhenItWasRecorded) {
  record::Session session;
  session.manifest = R"({"project": "p", "rates": {"device_usd_per_hour": 3.5}})";
  const std::vector records{at("", session)};
  EXPECT_DOUBLE_EQ(rates_of(records).device_usd_per_hour, 3.5);
  EXPECT_DOUBLE_EQ(rates_of(records).agent_usd_per_hour, 0);
  session.manifest = "version = 1";
  EXPECT_DOUBLE_EQ(rates_of(std::vector{at("", session)}).device_usd_per_hour, 0);
  EXPECT_DOUBLE_EQ(rates_of({}).device_usd_per_hour, 0);
}

}  // namespace
}  // namespace dent::cost_test

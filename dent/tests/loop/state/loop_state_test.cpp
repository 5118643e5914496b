// SPDX-License-Identifier: MIT
// What records say about a loop: where it stands, what it took, and what was held back from proposers.
#include "loop/state/loop_state.h"

#include <gtest/gtest.h>

#include "accounting/budget.h"
#include "base/error.h"
#include "evaluation/held_out.h"
#include "project/manifest.h"

namespace dent::loop_state_test {
namespace {

class Records {
 public:
  void add(AnyRecord data, const std::string& step = {}) {
    list_.push_back(
        {static_cast<std::int64_t>(list_.size()) + 1, "2026-01-01T00:00:00.000Z", step, std::move(data)});
  }
  void open(double target = 0, const std::string& target_shape = {}) {
    add(record::Loop{.base = "c0",
                     .branch = "dent/s",
                     .harness = "h",
                     .target_shape = target_shape,
                     .iterations = 20,
                     .confirmation_alpha = 0.001,
                     .target = target > 0 ? std::optional(target) : std::nullopt,
                     .choice = {}});
  }
  void standing(StandingOf whose, double ratio) {
    standing(whose, ratio, {{"tiny", exactly(ratio), 100, 100 / ratio}});
  }
  void standing(StandingOf whose, double ratio, std::vector<ShapeGain> shapes) {
    add(record::Standing{.of = whose, .step = "s", .ratio = exactly(ratio), .shapes = std::move(shapes)});
  }
  void begin(int number, const std::string& value, const std::string& proposer = "search", double seconds = 0,
             double usd = 0) {
    Proposal proposal;
    proposal.proposer = proposer;
    proposal.hypothesis = {"b", "c", "e"};
    proposal.assignment = Assignment{"TILE", value};
    proposal.spend = {seconds, usd, 10, 2};
    add(record::Iteration{.iteration = number,
                          .proposal = proposal,
                          .choice = {"", {{"TILE", value}}},
                          .parent = "c" + std::to_string(number - 1),
                          .patch = {}});
  }
  void end(int number, bool kept, double gain) {
    end(number, kept, gain, {{"tiny", exactly(gain), 200, 200 / gain}});
  }
  void end(int number, bool kept, double gain, std::vector<ShapeGain> shapes) {
    Outcome outcome;
    outcome.kept = kept;
    outcome.stage = kept ? TrialStage::kept : TrialStage::screening;
    outcome.gain = exactly(gain);
    outcome.shapes = std::move(shapes);
    add(record::Outcome{.iteration = number,
                        .outcome = outcome,
                        .commit = kept ? "c" + std::to_string(number) : "",
                        .overhead_s = 0.5});
  }
  void gate(const std::string& step, double seconds) {
    record::Gate gate;
    gate.step = step;
    gate.elapsed_s = seconds;
    add(gate, step);
  }
  static Ratio exactly(double ratio) { return {ratio, {ratio, ratio}}; }
  const std::vector<Record>& all() const { return list_; }

 private:
  std::vector<Record> list_;
};

// Two at a time: the second began before the first was kept, and is compared again with what that has become.
TEST(LoopState, AnIterationThatBeganBesideAnotherCountsFromWhatWasKeptMeanwhile) {
  Records records;
  records.open();
  records.standing(StandingOf::start, 0.5);
  records.begin(1, "1");
  records.begin(2, "2");
  EXPECT_EQ(state_of(records.all()).in_flight(), 2);
  EXPECT_EQ(state_of(records.all()).next()->number, 1);
  EXPECT_DOUBLE_EQ(state_of(records.all()).speedup(), 0.5);
  records.end(1, true, 2);
  EXPECT_DOUBLE_EQ(state_of(records.all()).speedup(), 1);
  record::Iteration again{.iteration = 2,
                          .proposal = state_of(records.all()).iterations[1].proposal,
                          .choice = {"", {{"TILE", "1+2"}}},
                          .parent = "c1",
                          .patch = {},
                          .again = true};
  records.add(again);
  const LoopState compared_again = state_of(records.all());
  ASSERT_EQ(compared_again.iterations.size(), 2U);
  EXPECT_TRUE(compared_again.iterations[1].again);
  EXPECT_EQ(compared_again.iterations[1].parent, "c1");
  records.end(2, true, 3);
  EXPECT_DOUBLE_EQ(state_of(records.all()).speedup(), 3);
  EXPECT_EQ(state_of(records.all()).incumbent().tunables.at("TILE"), "1+2");
  EXPECT_EQ(state_of(records.all()).in_flight(), 0);
}

TEST(LoopState, GainsMultiplyUntilTheBaselineIsMeasuredAgain) {
  Records records;
  records.open(1.5);
  records.standing(StandingOf::start, 0.5);
  records.begin(1, "8");
  records.end(1, true, 2);
  records.begin(2, "16");
  records.end(2, false, 0.9);
  LoopState state = state_of(records.all());
  EXPECT_DOUBLE_EQ(state.speedup(), 1.0);
  EXPECT_FALSE(state.measured());
  EXPECT_EQ(state.incumbent_commit(), "c1");
  EXPECT_EQ(state.incumbent().tunables.at("TILE"), "8");
  EXPECT_EQ(state.done(), 2);
  records.begin(3, "4");
  EXPECT_FALSE(state_of(records.all()).iterations.back().outcome);
  EXPECT_EQ(state_of(records.all()).done(), 2);
  records.end(3, true, 1.6);
  records.standing(StandingOf::incumbent, 1.55);
  state = state_of(records.all());
  EXPECT_DOUBLE_EQ(state.speedup(), 1.55);
  EXPECT_TRUE(state.measured());
  EXPECT_EQ(state.shapes({{"tiny", {}}}).front().incumbent_ns, 125);
  records.standing(StandingOf::winner, 1.52);
  state = state_of(records.all());
  EXPECT_DOUBLE_EQ(state.speedup(), 1.52);
  EXPECT_DOUBLE_EQ(state.iterations.back().speedup, 1.55);
}

// A mean above the target is no target reached where the manifest names the shape that counts.
TEST(LoopState, TheTargetCountsAtTheShapeThatTheManifestNames) {
  const auto gains = [](double tiny, double wide) {
    return std::vector<ShapeGain>{{"tiny", Records::exactly(tiny), 100, 100 / tiny},
                                  {"wide", Records::exactly(wide), 300, 300 / wide}};
  };
  const auto started = [&](const std::string& shape) {
    Records list;
    list.open(1.5, shape);
    list.standing(StandingOf::start, 0.5, gains(0.5, 0.5));
    return list;
  };
  Records list = started("wide");
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 0.5);
  list.begin(1, "8");
  list.end(1, true, 3.4,
           {{"tiny", Records::exactly(3.4), 200, 50}, {"wide", Records::exactly(3.4), 600, 250}});
  EXPECT_DOUBLE_EQ(state_of(list.all()).speedup(), 1.7);
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 300.0 / 250);
  list.standing(StandingOf::incumbent, 1.6, gains(1.9, 1.4));
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 1.4);
  EXPECT_FALSE(state_of(list.all()).reached());
  list.standing(StandingOf::winner, 1.6, gains(1.9, 1.45));
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 1.45);
  EXPECT_DOUBLE_EQ(state_of(started("").all()).towards_target(), 0.5);
}

// More of a budget may be given to a loop that had none left.
TEST(LoopState, AnIterationAfterTheEndTakesTheEndBack) {
  Records records;
  records.open();
  records.standing(StandingOf::start, 0.5);
  records.add(record::LoopEnd{LoopEnding::budget_spent, "the budget is spent: time", {}});
  ASSERT_TRUE(state_of(records.all()).ended);
  EXPECT_EQ(state_of(records.all()).ended->ending, LoopEnding::budget_spent);
  records.begin(1, "8");
  EXPECT_FALSE(state_of(records.all()).ended);
}

TEST(LoopState, AnOutcomeWithoutAnIterationIsNoRecordOfALoop) {
  Records records;
  records.open();
  records.end(1, true, 2);
  EXPECT_THROW(state_of(records.all()), Error);
}

TEST(Cost, CountsEveryTrialOnceAndTheAgentsReport) {
  Records records;
  records.gate("build", 10);
  records.gate("correctness/tiny", 5);
  records.begin(1, "8", "command", 60, 0.25);
  records.gate("001/build", 20);
  records.gate("001/screening/tiny", 30);
  records.end(1, true, 2);
  records.begin(2, "4");
  records.gate("002/build", 7);  // killed here
  const Cost cost = cost_of(records.all());
  EXPECT_DOUBLE_EQ(cost.wall_s, 10 + 5 + 60 + 20 + 30 + 0.5 + 7);
  EXPECT_DOUBLE_EQ(cost.build_s, 37);
  EXPECT_DOUBLE_EQ(cost.device_s, 35);
  EXPECT_DOUBLE_EQ(cost.agent_s, 60);
  EXPECT_EQ(cost.iterations, 1);
  EXPECT_EQ(cost.kept, 1);
  EXPECT_EQ(cost.input_tokens, 20);
  const Money money =
      money_of(cost, {.device_usd_per_hour = 3.6, .agent_usd_per_hour = 100, .engineer_usd_per_hour = 36});
  EXPECT_DOUBLE_EQ(money.device, 0.035);
  EXPECT_DOUBLE_EQ(money.agent, 0.25);  // reported, so its rate does not count
  EXPECT_NEAR(money.engineer, 1.325, 1e-9);
}

TEST(Cost, TheBudgetNearestItsEndIsNamed) {
  Cost cost;
  cost.wall_s = 90;
  cost.iterations = 9;
  EXPECT_FALSE(most_spent({}, cost, {}));
  EXPECT_EQ(most_spent({.minutes = 3, .iterations = 10}, cost, {})->part, BudgetPart::iterations);
  EXPECT_DOUBLE_EQ(most_spent({.minutes = 3}, cost, {})->share, 0.5);
  EXPECT_EQ(*left_of({.iterations = 10}, cost, {}).iterations, 1);
  EXPECT_FALSE(left_of({}, cost, {}).seconds);
}

Project shaped(const std::string& shapes, const std::string& more = {}) {
  return parse_project("version = 1\nshapes = " + shapes +
                           "\n[kernel]\nsources = [\"k.cpp\"]\nentry = \"f\"\n"
                           "[baseline.b]\nsources = [\"b.cpp\"]\nentry = \"f\"\n"
                           "[operator]\nname = \"op\"\ninputs.x = { shape = [\"S\", \"D\"] }\noutputs.y = { "
                           "shape = [\"S\"] }\n"
                           "reference = { source = \"r.cpp\", entry = \"f\" }\n" +
                           more,
                       "/nowhere");
}

TEST(HeldOut, ShapesLieBetweenThoseOfTheManifestAndKeepTheirDivisor) {
  const Project project = shaped(
      "[{ name = \"a\", S = 32, D = 64 }, { name = \"b\", S = 128, D = 64 }, { name = \"c\", S = 512, D = 64 "
      "}]");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto shapes = held_out_shapes(project, seed);
    ASSERT_EQ(shapes.size(), 2U);
    for (const Shape& shape : shapes) {
      const auto size = static_cast<int>(shape.sizes.at("S"));
      EXPECT_EQ(size % 32, 0);
      EXPECT_GT(size, 32);
      EXPECT_LT(size, 512);
      EXPECT_NE(size, 128);
      EXPECT_EQ(shape.sizes.at("D"), 64);
    }
  }
}

TEST(HeldOut, ASingleShapeHasNothingBetweenAndTheManifestHasTheLastWord) {
  EXPECT_TRUE(held_out_shapes(shaped("[{ name = \"a\", S = 32, D = 64 }]"), 1).empty());
  const Project project = shaped("[{ name = \"a\", S = 32, D = 64 }]",
                                 "[optimize]\nheld_out_shapes = [{ name = \"odd\", S = 77, D = 64 }]\n");
  ASSERT_EQ(held_out_shapes(project, 1).size(), 1U);
  EXPECT_EQ(held_out_shapes(project, 1).front().name, "odd");
}

}  // namespace
}  // namespace dent::loop_state_test

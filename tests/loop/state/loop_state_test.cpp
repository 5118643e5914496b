// SPDX-License-Identifier: MIT
// What records say about a loop: where it stands, what it took, and what was held back from proposers.
#include "loop/state/loop_state.h"

#include <gtest/gtest.h>

#include "records/sampling_records.h"
#include "accounting/budget.h"
#include "evaluation/held_out.h"
#include "project/manifest.h"

namespace dent {
namespace {

using nlohmann::json;

class Records {
 public:
  void add(const std::string& kind, json data) {
    list_.push_back(
        {static_cast<std::int64_t>(list_.size()) + 1, "2026-01-01T00:00:00.000Z", kind, std::move(data)});
  }
  void open(double target = 0) {
    json loop{{"base", "c0"},
              {"branch", "dent/s"},
              {"harness", "h"},
              {"iterations", 20},
              {"confirmation_alpha", 0.001},
              {"choice", {{"variant", ""}, {"tunables", json::object()}}}};
    if (target > 0) loop["target"] = target;
    add("loop", std::move(loop));
    standing("performance", 0.5);
  }
  void standing(const std::string& step, double ratio) {
    add("standing", {{"step", step},
                     {"ratio", ratio_record({ratio, {ratio, ratio}})},
                     {"shapes",
                      {{{"shape", "tiny"},
                        {"ratio", ratio_record({ratio, {ratio, ratio}})},
                        {"baseline_ns", 100},
                        {"candidate_ns", 100 / ratio}}}}});
  }
  void begin(int number, const std::string& value, const std::string& proposer = "search", double seconds = 0,
             double usd = 0) {
    Proposal proposal;
    proposal.proposer = proposer;
    proposal.hypothesis = {"b", "c", "e"};
    proposal.assignment = Assignment{"TILE", value};
    proposal.spend = {seconds, usd, 10, 2};
    json record = to_json(proposal);
    record["iteration"] = number;
    record["parent"] = "c" + std::to_string(number - 1);
    record["choice"] = {{"variant", ""}, {"tunables", {{"TILE", value}}}};
    add("iteration", std::move(record));
  }
  void end(int number, bool kept, double gain) {
    Outcome outcome;
    outcome.kept = kept;
    outcome.stage = kept ? "kept" : "screening";
    outcome.gain = Ratio{gain, {gain, gain}};
    outcome.shapes = {{"tiny", *outcome.gain, 200, 200 / gain}};
    json record = to_json(outcome);
    record["iteration"] = number;
    record["overhead_s"] = 0.5;
    if (kept) record["commit"] = "c" + std::to_string(number);
    add("outcome", std::move(record));
  }
  void trial(int number, const std::string& name, double seconds) {
    add("trial", {{"iteration", number}, {"trial", name}, {"elapsed_s", seconds}});
  }
  const std::vector<Record>& all() const { return list_; }

 private:
  std::vector<Record> list_;
};

TEST(LoopState, GainsMultiplyUntilTheBaselineIsMeasuredAgain) {
  Records records;
  records.open(1.5);
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
  records.standing("standing/003", 1.55);
  state = state_of(records.all());
  EXPECT_DOUBLE_EQ(state.speedup(), 1.55);
  EXPECT_TRUE(state.measured());
  EXPECT_EQ(state.shapes({{"tiny", {}}}).front().incumbent_ns, 125);
  records.standing("winner/003/performance", 1.52);
  state = state_of(records.all());
  EXPECT_DOUBLE_EQ(state.speedup(), 1.52);
  EXPECT_DOUBLE_EQ(state.iterations.back().speedup, 1.55);
}

// A mean above the target is no target reached where the manifest names the shape that counts.
TEST(LoopState, TheTargetCountsAtTheShapeThatTheManifestNames) {
  const auto records = [](const std::string& shape) {
    const auto both = [](double tiny, double wide, const char* baseline, const char* candidate) {
      return json{{{"shape", "tiny"},
                   {"ratio", ratio_record({tiny, {tiny, tiny}})},
                   {baseline, 100},
                   {candidate, 100 / tiny}},
                  {{"shape", "wide"},
                   {"ratio", ratio_record({wide, {wide, wide}})},
                   {baseline, 300},
                   {candidate, 300 / wide}}};
    };
    Records list;
    list.add("loop", {{"base", "c0"},
                      {"branch", "dent/s"},
                      {"harness", "h"},
                      {"iterations", 20},
                      {"confirmation_alpha", 0.001},
                      {"choice", {{"variant", ""}, {"tunables", json::object()}}},
                      {"target", 1.5},
                      {"target_shape", shape}});
    list.add("standing", {{"step", "performance"},
                          {"ratio", ratio_record({0.5, {0.5, 0.5}})},
                          {"shapes", both(0.5, 0.5, "baseline_ns", "candidate_ns")}});
    return list;
  };
  Records list = records("wide");
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 0.5);
  list.begin(1, "8");
  Outcome outcome;
  outcome.kept = true;
  outcome.stage = "kept";
  outcome.gain = Ratio{3.4, {3.4, 3.4}};
  outcome.shapes = {{"tiny", *outcome.gain, 200, 50}, {"wide", *outcome.gain, 600, 250}};
  json record = to_json(outcome);
  record["iteration"] = 1;
  record["commit"] = "c1";
  list.add("outcome", record);
  EXPECT_DOUBLE_EQ(state_of(list.all()).speedup(), 1.7);
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 300.0 / 250);
  const auto measured = [&](const std::string& step, double tiny, double wide) {
    list.add("standing", {{"step", step},
                          {"ratio", ratio_record({1.6, {1.6, 1.6}})},
                          {"shapes",
                           {{{"shape", "tiny"},
                             {"ratio", ratio_record({tiny, {tiny, tiny}})},
                             {"baseline_ns", 100},
                             {"candidate_ns", 50}},
                            {{"shape", "wide"},
                             {"ratio", ratio_record({wide, {wide, wide}})},
                             {"baseline_ns", 300},
                             {"candidate_ns", 240}}}}});
  };
  measured("standing/001", 1.9, 1.4);
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 1.4);
  measured("winner/001/performance", 1.9, 1.45);
  EXPECT_DOUBLE_EQ(state_of(list.all()).towards_target(), 1.45);
  EXPECT_DOUBLE_EQ(state_of(records("").all()).towards_target(), 0.5);
}

TEST(Cost, CountsEveryTrialOnceAndTheAgentsReport) {
  Records records;
  records.add("gate", {{"step", "build"}, {"elapsed_s", 10}});
  records.add("gate", {{"step", "correctness/tiny"}, {"elapsed_s", 5}});
  records.begin(1, "8", "command", 60, 0.25);
  records.trial(1, "build", 20);
  records.trial(1, "screening/tiny", 30);
  records.end(1, true, 2);
  records.begin(2, "4");
  records.trial(2, "build", 7);  // killed here
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
  EXPECT_EQ(most_spent({.minutes = 3, .iterations = 10}, cost, {})->what, "iterations");
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
}  // namespace dent

// SPDX-License-Identifier: MIT
// Outcomes of candidates, from invented trials: no kernel runs.
#include "evaluation/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace dent::judge_test {
namespace {

const std::vector<Shape> kShapes{{"tiny", {}}, {"large", {}}};

GateResult built(const std::string& hash) {
  GateResult result = passed("built");
  result.records.emplace_back(record::Build{"source", hash, "build.log", 1, {}, "incumbent's hash"});
  return result;
}

GateResult measured(const Shape& shape, double ratio, double within = 0.001) {
  GateResult result = passed("measured");
  record::Comparison comparison;
  comparison.shape = shape.name;
  comparison.weight = shape.weight;
  comparison.against = Against::incumbent;
  comparison.ratio = Ratio{ratio, {ratio / (1 + within), ratio * (1 + within)}};
  comparison.baseline_ns = 1000 * ratio;
  comparison.candidate_ns = 1000;
  result.records.emplace_back(comparison);
  return result;
}

struct Seen {
  std::vector<std::string> trials;
  Outcome outcome;
};

// Requests one trial after the other and answers each.
Seen through(const std::function<GateResult(const Trial&)>& answer, EvaluationRules rules = {},
             const std::vector<Shape>& shapes = kShapes) {
  Seen seen;
  std::vector<GateResult> ended;
  for (;;) {
    const auto next = judge(ended, rules, shapes);
    if (const auto* outcome = std::get_if<Outcome>(&next)) {
      seen.outcome = *outcome;
      return seen;
    }
    const auto& trial = std::get<Trial>(next);
    seen.trials.push_back(name_of(trial, shapes));
    ended.push_back(answer(trial));
    if (ended.size() > 100) throw std::runtime_error("no end");
  }
}

std::function<GateResult(const Trial&)> all_well(double ratio) {
  return [ratio](const Trial& trial) {
    if (trial.stage == TrialStage::build) return built("another hash");
    const bool timed = trial.stage == TrialStage::screening || trial.stage == TrialStage::confirmation;
    // starts differ a little, since an interval needs scatter
    return timed ? measured(kShapes[trial.shape], ratio * (1 + 1e-4 * trial.start)) : passed("well");
  };
}

TEST(Judge, AsksFromTheCheapestToTheDearest) {
  const Seen seen = through(all_well(2), {.keep = {}, .sanitize = true});
  EXPECT_EQ(seen.trials,
            (std::vector<std::string>{"build", "correctness/tiny", "correctness/large", "sanitize",
                                      "screening/tiny", "screening/large", "confirmation/1/tiny",
                                      "confirmation/1/large", "confirmation/2/tiny", "confirmation/2/large",
                                      "confirmation/3/tiny", "confirmation/3/large"}));
  EXPECT_TRUE(seen.outcome.kept);
  EXPECT_EQ(seen.outcome.stage, TrialStage::kept);
  EXPECT_NEAR(seen.outcome.gain->centre, 2, 0.01);
  EXPECT_EQ(seen.outcome.shapes.size(), 2U);
}

TEST(Judge, AFailureOfAnyTrialEndsItWithItsCause) {
  const auto first = through(all_well(2), {.keep = {}, .sanitize = true});
  for (std::size_t which = 0; which < first.trials.size(); ++which) {
    std::size_t asked = 0;
    const Seen seen = through(
        [&](const Trial& trial) {
          return asked++ == which ? failed(Cause::incorrect, "why", "what next", "last words")
                                  : all_well(2)(trial);
        },
        {.keep = {}, .sanitize = true});
    EXPECT_FALSE(seen.outcome.kept) << first.trials[which];
    EXPECT_EQ(seen.outcome.cause, Cause::incorrect);
    EXPECT_EQ(seen.outcome.reason, "why");
    EXPECT_EQ(seen.outcome.next, "what next");
    EXPECT_EQ(seen.outcome.last_words, "last words");
    EXPECT_EQ(seen.trials.size(), which + 1);
    EXPECT_TRUE(first.trials[which].starts_with(name(seen.outcome.stage))) << first.trials[which];
  }
}

TEST(Judge, TheSameProgramIsNotMeasured) {
  const Seen seen = through([](const Trial&) { return built("incumbent's hash"); });
  EXPECT_EQ(seen.trials, std::vector<std::string>{"build"});
  EXPECT_EQ(seen.outcome.stage, TrialStage::build);
  EXPECT_FALSE(seen.outcome.cause);
}

TEST(Judge, AShapeThatLosesSettlesIt) {
  const Seen seen = through([](const Trial& trial) {
    return trial.stage == TrialStage::screening ? measured(kShapes[trial.shape], trial.shape == 0 ? 0.9 : 3)
                                                : all_well(2)(trial);
  });
  EXPECT_EQ(seen.trials.back(), "screening/tiny");
  EXPECT_EQ(seen.outcome.stage, TrialStage::guard);
  EXPECT_FALSE(seen.outcome.gain);
}

TEST(Judge, WithoutAnIntervalNothingIsKept) {
  const Seen seen = through([](const Trial& trial) {
    return trial.stage == TrialStage::screening ? passed("too few") : all_well(2)(trial);
  });
  EXPECT_EQ(seen.outcome.stage, TrialStage::screening);
  EXPECT_NE(seen.outcome.reason.find("tiny: too few samples"), std::string::npos);
}

TEST(Judge, WhatTheScreeningSawMustComeAgain) {
  const Seen lucky = through([](const Trial& trial) {
    return trial.stage == TrialStage::confirmation ? measured(kShapes[trial.shape], 1 + 1e-4 * trial.start)
                                                   : all_well(1.2)(trial);
  });
  EXPECT_FALSE(lucky.outcome.kept);
  EXPECT_EQ(lucky.outcome.stage, TrialStage::confirmation);
  EXPECT_EQ(lucky.trials.back(), "confirmation/3/large");  // the gain is too small for more starts
}

// An unconfirmed clock is as doubtful at the seventh start as at the first.
TEST(Judge, StartsThatAgreeDoNotConfirmWhatIsDoubtfulAtEach) {
  const Seen seen = through([](const Trial& trial) {
    GateResult result = all_well(1.2)(trial);
    if (trial.stage != TrialStage::confirmation) return result;
    std::get<record::Comparison>(result.records.back()).doubt = Doubt{0.25, 0};
    return result;
  });
  EXPECT_FALSE(seen.outcome.kept) << seen.outcome.reason;
  EXPECT_EQ(seen.outcome.stage, TrialStage::confirmation);
  EXPECT_LT(seen.outcome.gain->interval.low, 1);
}

TEST(Judge, AShapeOfNoWeightIsCheckedAndNotTimed) {
  const std::vector<Shape> shapes{{"corner", {}, 0}, {"large", {}}};
  const Seen seen = through(
      [&](const Trial& trial) {
        if (trial.stage == TrialStage::build) return built("another hash");
        return trial.stage == TrialStage::correctness ? passed("well")
                                                      : measured(shapes[trial.shape], 2 + 1e-4 * trial.start);
      },
      {}, shapes);
  EXPECT_EQ(seen.trials, (std::vector<std::string>{"build", "correctness/corner", "correctness/large",
                                                   "screening/large", "confirmation/1/large",
                                                   "confirmation/2/large", "confirmation/3/large"}));
  EXPECT_TRUE(seen.outcome.kept);
}

// 9 parts of a gain and one part of an allowed loss.
TEST(Judge, GainsAreMeansWithTheShapesWeights) {
  const std::vector<Shape> shapes{{"often", {}, 9}, {"rare", {}, 1}};
  const Seen seen = through(
      [&](const Trial& trial) {
        if (trial.stage == TrialStage::build) return built("another hash");
        return trial.stage == TrialStage::correctness
                   ? passed("well")
                   : measured(shapes[trial.shape], (trial.shape == 0 ? 2 : 0.99) + 1e-4 * trial.start);
      },
      {}, shapes);
  ASSERT_TRUE(seen.outcome.kept) << seen.outcome.reason;
  EXPECT_NEAR(seen.outcome.gain->centre, std::pow(2, 0.9) * std::pow(0.99, 0.1), 1e-3);
  EXPECT_EQ(seen.outcome.shapes.at(0).weight, 9);
}

TEST(Judge, AnUnclearConfirmationGetsSevenStarts) {
  const Seen seen = through([](const Trial& trial) {
    if (trial.stage != TrialStage::confirmation) return all_well(1.2)(trial);
    return measured(kShapes[trial.shape], trial.start % 2 == 0 ? 1.4 : 1.02);
  });
  EXPECT_EQ(seen.trials.back(), "confirmation/7/large");
  EXPECT_NE(seen.outcome.reason.find("7 starts"), std::string::npos);
}

}  // namespace
}  // namespace dent::judge_test

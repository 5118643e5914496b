// SPDX-License-Identifier: MIT
#include "suites/score.h"

#include <gtest/gtest.h>

#include "suites/suite_report.h"

namespace dent::score_test {
namespace {

SuiteRow right(double low, double centre, double high) {
  return {.project = "p", .verdict = Verdict::faster, .reason = "r", .ratio = Ratio{centre, {low, high}}};
}
SuiteRow of(Verdict verdict) { return {.project = "p", .verdict = verdict, .reason = "r"}; }

TEST(Score, WhatIsWrongIsInTheDenominatorAlone) {
  const std::vector rows{right(1.9, 2, 2.1), right(0.97, 0.99, 1.02), of(Verdict::incorrect),
                         of(Verdict::cheat)};
  const FastP one = fast_p(rows, 1);
  EXPECT_EQ(one.count, 1);
  EXPECT_DOUBLE_EQ(one.share, 0.25);
  EXPECT_DOUBLE_EQ(one.measured.low, 0.25);
  EXPECT_DOUBLE_EQ(one.measured.high, 0.5) << "the second may be faster than 1";
  EXPECT_LT(one.tasks.low, one.measured.low);
  EXPECT_GT(one.tasks.high, one.measured.high);
  EXPECT_EQ(fast_p(rows, 2).count, 0) << "faster than, not as fast as";
}

TEST(Score, WhatWasNotJudgedMayBeAnything) {
  const std::vector rows{right(1.9, 2, 2.1), of(Verdict::environment), of(Verdict::interrupted),
                         SuiteRow{.project = "no manifest", .reason = "r", .exit_code = 2}};
  const Score score = score_of(rows);
  EXPECT_EQ(score.right, 1);
  EXPECT_EQ(score.wrong, 0);
  EXPECT_EQ(score.not_judged, 3);
  EXPECT_DOUBLE_EQ(fast_p(rows, 1).share, 0.25);
  EXPECT_DOUBLE_EQ(fast_p(rows, 1).measured.high, 1);
}

// A kernel that is right and was not timed is faster than nothing but 0.
TEST(Score, ZeroMeansRight) {
  const std::vector rows{of(Verdict::pass), of(Verdict::timeout)};
  EXPECT_DOUBLE_EQ(fast_p(rows, 0).share, 0.5);
  EXPECT_EQ(fast_p(rows, 0.01).count, 0);
  EXPECT_DOUBLE_EQ(fast_p(rows, 0.01).measured.low, 0);
  EXPECT_DOUBLE_EQ(fast_p(rows, 0.01).measured.high, 0.5) << "its speed may be any";
}

TEST(SuiteRows, ABusyMachineAndWhatWasNotJudgedDoNotStand) {
  for (const Verdict verdict :
       {Verdict::faster, Verdict::ambiguous, Verdict::incorrect, Verdict::build_failed})
    EXPECT_TRUE(stands(of(verdict)));
  for (const Verdict verdict : {Verdict::busy_machine, Verdict::environment, Verdict::interrupted})
    EXPECT_FALSE(stands(of(verdict)));
}

TEST(Score, FallsWithP) {
  const std::vector rows{right(0.5, 0.6, 0.7), right(0.9, 1, 1.1), right(2, 2.5, 3),
                         of(Verdict::build_failed)};
  const Score score = score_of(rows);
  for (std::size_t i = 1; i < score.fast.size(); ++i) {
    EXPECT_LE(score.fast[i].share, score.fast[i - 1].share);
    EXPECT_LE(score.fast[i].measured.low, score.fast[i].share);
    EXPECT_GE(score.fast[i].measured.high, score.fast[i].share);
  }
}

TEST(Score, IsDrawnAsStairsWithABand) {
  const std::vector rows{right(0.9, 1, 1.1), right(2, 2.5, 3)};
  const std::string plot = score_plot(rows);
  EXPECT_NE(plot.find("class=\"band\""), std::string::npos) << plot;
  EXPECT_EQ(plot.find("nan"), std::string::npos);
  EXPECT_EQ(score_plot(std::vector{of(Verdict::cheat)}), "");
}

TEST(Score, TextHasEveryFigure) {
  const std::string text = score_text(score_of(std::vector{right(1.9, 2, 2.1), of(Verdict::incorrect)}));
  EXPECT_NE(text.find("2 projects: 1 right, 1 wrong, 0 not judged"), std::string::npos) << text;
  EXPECT_NE(text.find("than 1.5x            50.0 %  50.0 to 50.0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace dent::score_test

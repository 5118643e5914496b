// SPDX-License-Identifier: MIT
#include "report/rates.h"

#include <gtest/gtest.h>

#include "report/comment.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/session_view.h"

namespace dent::rates_test {
namespace {

record::Comparison shape(double ns) {
  record::Comparison comparison;
  comparison.shape = "wide";
  comparison.candidate_ns = ns;
  comparison.baseline_ns = 2 * ns;
  return comparison;
}

TEST(Rates, AreWhatTheManifestAndThePeaksGive) {
  record::Comparison one = shape(2000);
  EXPECT_EQ(show_rates(one), "") << "nothing is known";
  one.bytes = 6e6;
  EXPECT_EQ(show_rates(one), "3000 GB/s");
  one.flops = 5e9;
  EXPECT_EQ(show_rates(one), "3000 GB/s, 2500 TFLOP/s");
  one.flops = 5e5;
  one.floor_ns = 1250;
  EXPECT_EQ(show_rates(one), "3000 GB/s, 250 GFLOP/s, 62.5 % of the device's peak");
  EXPECT_EQ(show_rates(shape(0)), "") << "not measured";
}

TEST(Rates, StandInEveryTable) {
  SessionView view;
  view.comparisons = {shape(2000)};
  view.comparisons.front().bytes = 6e6;
  view.comparisons.front().flops = 5e5;
  view.comparisons.front().floor_ns = 1250;
  for (const std::string& text :
       {markdown_report(view, {}), html_report(view, {}), comment_on(view, {"a", "b", Verdict::same})}) {
    for (const char* part : {"3000 GB/s", "250 GFLOP/s", "62.5 %"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

}  // namespace
}  // namespace dent::rates_test

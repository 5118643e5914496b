// SPDX-License-Identifier: MIT
#include "report/markdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "report/example_session.h"

namespace dent::markdown_test {
namespace {

using test::example_records;
using test::Story;

std::string markdown_of(Story story) {
  return markdown_report(view_session("id", example_records(story)), {});
}

TEST(MarkdownReport, BeginsWithTheVerdict) {
  EXPECT_EQ(markdown_of(Story::faster).rfind("# attention \\<cpu>: FASTER\n", 0), 0u);
  EXPECT_NE(markdown_of(Story::cheating).find("**CHEAT: output written after the call had returned**"),
            std::string::npos);
  EXPECT_NE(markdown_of(Story::incorrect).find("out[0, 1, 5]: nan instead of 0.25"), std::string::npos);
  EXPECT_NE(markdown_of(Story::interrupted).find("dent resume id"), std::string::npos);
}

TEST(MarkdownReport, WhatWasForeseenStandsBesideWhatWasMeasured) {
  const std::string page = markdown_of(Story::faster);
  const auto at = page.find("## Prediction");
  ASSERT_NE(at, std::string::npos);
  const std::string line = page.substr(page.find("| tiny", at), 300);
  EXPECT_EQ(
      line.rfind("| tiny | 2 CTAs on 58 SMs: 3.4 % of the L4 works | fp32 | 15.4 us (7.70 us to 30.9 us) |",
                 0),
      0U)
      << line;
  EXPECT_NE(line.find("splits 1 -> 32: 2 -> 64 CTAs"), std::string::npos);
}

TEST(MarkdownReport, RowsOfATableHaveAsManyCellsAsItsHead) {
  std::istringstream lines(markdown_of(Story::faster));
  std::ptrdiff_t head = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      head = 0;
      continue;
    }
    std::ptrdiff_t cells = std::count(line.begin(), line.end(), '|');
    for (auto at = line.find("\\|"); at != std::string::npos; at = line.find("\\|", at + 1)) --cells;
    if (head == 0) head = cells;
    EXPECT_EQ(cells, head) << line;
  }
}

}  // namespace
}  // namespace dent::markdown_test

// SPDX-License-Identifier: MIT
// A kernel's statements that order what its threads do, taken out one by one.
#pragma once

#include <compare>
#include <set>
#include <string>

namespace flashmoe::test {

// A statement that can be taken out.
struct Line {
  std::string file;
  int number = 0;
  std::string text;

  auto operator<=>(const Line&) const = default;
};

// Those that runs have come to while nothing was taken out.
std::set<Line>& reached_lines();

// Takes a statement out, as long as this lives.
class WithoutLine {
 public:
  explicit WithoutLine(const Line& line);
  ~WithoutLine();
  WithoutLine(const WithoutLine&) = delete;
  WithoutLine& operator=(const WithoutLine&) = delete;
};

// Why nothing notices that a statement is missing, or "" if something should.
std::string why_harmless(const std::string& kernel, const std::set<Line>& lines, const Line& line);

}  // namespace flashmoe::test

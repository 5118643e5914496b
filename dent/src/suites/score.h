// SPDX-License-Identifier: MIT
// The score of a suite: fast_p, the share of all projects whose kernel is right and faster than p times its
// baseline. A project that is wrong, or was not judged, is in the share's denominator all the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "records/fields.h"
#include "suites/suite.h"

namespace dent {

struct FastP {
  double p = 0;
  int count = 0;      // right, and faster than p by the centre of its interval; p = 0: right
  double share = 0;   // of all projects
  Interval measured;  // of that share: from the ends of the projects' own intervals. What was not judged is
                      // in none of the lower end, and in all of the upper one
  Interval tasks;     // 95 %, where the projects are a sample of others like them; around `measured`
  bool operator==(const FastP&) const = default;
};
void fields(Fields& f, FastP& fast);

struct Score {
  int projects = 0, right = 0, wrong = 0, not_judged = 0;
  std::vector<FastP> fast;  // at the values of p that people compare
  bool operator==(const Score&) const = default;
};
void fields(Fields& f, Score& score);

FastP fast_p(std::span<const SuiteRow> rows, double p);
Score score_of(std::span<const SuiteRow> rows);

// fast_p over p, with the band that the measurements allow; empty where nothing was measured.
std::string score_plot(std::span<const SuiteRow> rows);

}  // namespace dent

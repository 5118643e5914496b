// SPDX-License-Identifier: MIT
#include "suites/score.h"

#include "measure/share.h"

namespace dent {
namespace {

constexpr double kScoreAlpha = 0.05;
constexpr double kUsual[] = {0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5};

}  // namespace

void fields(Fields& f, FastP& fast) {
  f("p", fast.p, "times the baseline's speed");
  f("count", fast.count, "projects that are right and faster than that; p = 0: right");
  f("share", fast.share, "of all projects");
  f("low", fast.measured.low, "of the share, by the lower ends of the projects' intervals");
  f("high", fast.measured.high, "by the upper ends, and with those whose speed is not known");
  f("low_over_tasks", fast.tasks.low, "95 %, where the projects are a sample of others like them");
  f("high_over_tasks", fast.tasks.high, "its upper end");
}

void fields(Fields& f, Score& score) {
  f("projects", score.projects, "all of them");
  f("right", score.right, "of them");
  f("wrong", score.wrong, "wrong numbers, a crash, a hang, a cheat, or no build");
  f("not_judged", score.not_judged, "the machine was in the way");
  f("fast", score.fast, "share that is right and faster than p");
}

FastP fast_p(std::span<const SuiteRow> rows, double p) {
  int sure = 0, count = 0, possible = 0;
  for (const SuiteRow& row : rows) {
    const Found what = found(row);
    if (what == Found::not_judged) ++possible;
    if (what != Found::right) continue;
    const bool any_speed = p == 0;
    sure += any_speed || (row.ratio && row.ratio->interval.low > p) ? 1 : 0;
    count += any_speed || (row.ratio && row.ratio->centre > p) ? 1 : 0;
    possible += any_speed || !row.ratio || row.ratio->interval.high > p ? 1 : 0;
  }
  const int all = static_cast<int>(rows.size());
  const auto share = [all](int some) { return all > 0 ? static_cast<double>(some) / all : 0; };
  return {
      .p = p,
      .count = count,
      .share = share(count),
      .measured = {share(sure), share(possible)},
      .tasks = {share_interval(sure, all, kScoreAlpha).low, share_interval(possible, all, kScoreAlpha).high}};
}

Score score_of(std::span<const SuiteRow> rows) {
  Score score{.projects = static_cast<int>(rows.size()), .fast = {}};
  for (const SuiteRow& row : rows) {
    switch (found(row)) {
      case Found::right:
        ++score.right;
        break;
      case Found::wrong:
        ++score.wrong;
        break;
      case Found::not_judged:
        ++score.not_judged;
        break;
    }
  }
  for (const double p : kUsual) score.fast.push_back(fast_p(rows, p));
  return score;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "report/session_change.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dent {
namespace {

Verdict verdict_on(SpeedVerdict change) {
  switch (change) {
    case SpeedVerdict::faster:
      return Verdict::faster;
    case SpeedVerdict::same:
      return Verdict::same;
    case SpeedVerdict::slower:
      return Verdict::regressed;
    case SpeedVerdict::ambiguous:
      break;
  }
  return Verdict::ambiguous;
}

}  // namespace

SessionChange change_between(const SessionView& before, const SessionView& after, double same_within) {
  if (before.session.baseline != after.session.baseline) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} was compared with {}, {} with {}: their ratios have nothing in common",
                            before.id, before.session.baseline, after.id, after.session.baseline));
  }
  SessionChange found;
  std::vector<Ratio> changes;
  std::vector<double> weights;  // as they are now
  std::vector<SpeedVerdict> verdicts;
  bool busy = false;
  for (const record::Comparison& old : before.comparisons) {
    const record::Comparison* now = after.comparison(old.shape);
    if (now == nullptr) continue;
    ++found.common;
    busy = busy || old.busy || now->busy;
    if (!old.ratio || !now->ratio) continue;  // too few samples for an interval: nothing to compare
    const Ratio ratio = change(*old.ratio, *now->ratio);
    const SpeedVerdict verdict = judge(ratio, same_within);
    found.shapes.push_back({old.shape, *old.ratio, *now->ratio, ratio, verdict});
    changes.push_back(ratio);
    weights.push_back(now->weight);
    verdicts.push_back(verdict);
  }
  if (found.common == 0) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} and {} have no measured shape in common", before.id, after.id),
                "compare sessions of dent run or dent bench; dent log lists them");
  }
  if (changes.size() < found.common) return found;
  found.mean = geometric_mean(changes, weights);
  found.verdict = busy ? Verdict::busy_machine : verdict_on(judge_whole(*found.mean, verdicts, same_within));
  return found;
}

}  // namespace dent

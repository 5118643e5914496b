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
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "{} was compared with {}, but {} with {}: ratios to different baselines can't be compared",
            before.id, before.session.baseline, after.id, after.session.baseline),
        "compare sessions with equal baselines; dent log lists them");
  }
  SessionChange found;
  std::vector<ShapeSpeed> changes;
  for (const record::Comparison& old : before.comparisons) {
    const record::Comparison* now = after.comparison(old.shape);
    if (now == nullptr) continue;
    ++found.common;
    const Doubt then = old.taken.value_or(Doubt{});  // denominator: low and high swap
    ShapeSpeed speed{.taken = both(now->taken.value_or(Doubt{}), {then.high, then.low}),
                     .busy = old.busy || now->busy,
                     .weight = now->weight};
    if (old.ratio && now->ratio) {  // without an interval there is nothing to compare
      speed.ratio = change(*old.ratio, *now->ratio);
      speed.verdict = judge(speed.ratio, same_within);
      found.shapes.push_back({.shape = old.shape,
                              .before = *old.ratio,
                              .after = *now->ratio,
                              .change = *speed.ratio,
                              .verdict = speed.verdict,
                              .busy = speed.busy,
                              .too_busy = too_busy_to_tell(speed, same_within)});
    }
    changes.push_back(speed);
  }
  if (found.common == 0) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} and {} have no measured shape in common", before.id, after.id),
                "compare sessions of dent run or dent bench; dent log lists them");
  }
  const WholeSpeed whole = over_shapes(changes, same_within);
  found.mean = whole.mean;
  found.busy = whole.busy;
  found.verdict = whole.too_busy ? Verdict::busy_machine : verdict_on(whole.verdict);
  return found;
}

}  // namespace dent

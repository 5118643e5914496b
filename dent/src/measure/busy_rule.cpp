// SPDX-License-Identifier: MIT
#include "measure/busy_rule.h"

#include <algorithm>
#include <vector>

namespace dent {

bool too_busy_to_tell(const ShapeSpeed& shape, double same_within) {
  if (!shape.busy || shape.verdict != SpeedVerdict::ambiguous) return false;
  if (!shape.ratio) return true;
  const Ratio before = narrowed(*shape.ratio, shape.taken);
  return before.interval.contains(1) || judge(before, same_within) != SpeedVerdict::ambiguous;
}

WholeSpeed over_shapes(std::span<const ShapeSpeed> shapes, double same_within) {
  WholeSpeed whole;
  std::vector<Ratio> ratios;
  std::vector<double> weights;
  std::vector<Doubt> taken;
  std::vector<SpeedVerdict> verdicts, before;
  for (const ShapeSpeed& shape : shapes) {
    whole.busy = whole.busy || shape.busy;
    whole.too_busy = whole.too_busy || too_busy_to_tell(shape, same_within);
    verdicts.push_back(shape.verdict);
    if (!shape.ratio) continue;
    ratios.push_back(*shape.ratio);
    weights.push_back(shape.weight);
    taken.push_back(shape.taken);
    before.push_back(judge(narrowed(*shape.ratio, shape.taken), same_within));
  }
  if (ratios.empty() || ratios.size() != shapes.size()) return whole;
  whole.mean = geometric_mean(ratios, weights);
  whole.verdict = judge_whole(*whole.mean, verdicts, same_within);
  if (whole.busy && judge_whole(narrowed(*whole.mean, mean_doubt(taken, weights)), before, same_within) !=
                        SpeedVerdict::ambiguous)
    whole.too_busy = true;
  if (whole.verdict != SpeedVerdict::ambiguous) whole.too_busy = false;
  return whole;
}

std::string in_words(SpeedVerdict verdict, bool busy, bool too_busy) {
  if (too_busy) return "BUSY MACHINE";
  return std::string(name(verdict)) + (busy ? " on a busy machine" : "");
}

}  // namespace dent

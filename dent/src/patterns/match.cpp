// SPDX-License-Identifier: MIT
#include "patterns/match.h"

#include <algorithm>

namespace dent {
namespace {

constexpr int kEnoughTries = 3;         // with this many tries, evidence replaces the pattern's own estimate
constexpr double kPromise = 1.1;        // assumed gain of a pattern without an estimate
constexpr double kRunnerUpShare = 0.5;  // factor on the gain of patterns that address the runner-up

template <class T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool for_operator(const Pattern& pattern, const Situation& situation) {
  return pattern.operators.empty() || contains(pattern.operators, situation.op) ||
         contains(pattern.operators, std::string(name(situation.family)));
}

bool for_types(const Pattern& pattern, const Situation& situation) {
  if (pattern.dtypes.empty()) return true;
  bool floating = false;
  for (const DType dtype : situation.dtypes) {
    if (!is_floating(dtype)) continue;
    if (!contains(pattern.dtypes, dtype)) return false;
    floating = true;
  }
  return floating;
}

// Mean gain of the tries, mixed with the pattern's estimate while tries are few. A failed try counts as no
// gain.
double expected_gain(const Pattern& pattern) {
  const double promise = pattern.expected_gain.value_or(kPromise);
  const record::PatternEvidence& seen = pattern.evidence;
  if (seen.tries == 0) return promise;
  const double worked = static_cast<double>(seen.tries - seen.failures) / seen.tries;
  const double shown = 1 + worked * (seen.median_gain.value_or(1) - 1);
  const double weight = std::min(1.0, static_cast<double>(seen.tries) / kEnoughTries);
  return weight * shown + (1 - weight) * promise;
}

}  // namespace

bool applies(const Pattern& pattern, const Situation& situation) {
  if (!pattern.devices.empty() && !contains(pattern.devices, situation.device)) return false;
  if (!for_operator(pattern, situation) || !for_types(pattern, situation)) return false;
  if (situation.arch > 0 && pattern.from_arch > situation.arch) return false;
  return situation.arch == 0 || pattern.to_arch == 0 || situation.arch <= pattern.to_arch;
}

Situation situation_of(const record::Diagnosis& diagnosis) {
  const Diagnosis& finding = diagnosis.finding;
  std::vector<DType> dtypes;
  for (const std::string& dtype : diagnosis.dtypes) dtypes.push_back(parse_dtype(dtype));
  return {.bottleneck = finding.bottleneck,
          .runner_up = finding.runner_up_holds ? finding.runner_up : "",
          .quantities = diagnosis.metrics,
          .device = diagnosis.device,
          .op = diagnosis.op,
          .family = diagnosis.family.value_or(family_of(diagnosis.op)),
          .dtypes = std::move(dtypes),
          .arch = diagnosis.arch};
}

std::vector<PatternMatch> match(std::span<const Pattern> patterns, const Situation& situation) {
  struct Ranked {
    bool direct;
    PatternMatch match;
  };
  std::vector<Ranked> found;
  for (const Pattern& pattern : patterns) {
    if (pattern.bottlenecks.empty() && pattern.conditions.empty()) continue;  // no symptom: general advice
    if (!applies(pattern, situation)) continue;
    const bool direct = pattern.bottlenecks.empty() || contains(pattern.bottlenecks, situation.bottleneck);
    if (!direct && !contains(pattern.bottlenecks, situation.runner_up)) continue;
    std::string why = pattern.bottlenecks.empty() ? "" : direct ? situation.bottleneck : situation.runner_up;
    bool holds = true;
    for (const Condition& condition : pattern.conditions) {
      holds = holds && condition.ask(situation.quantities).yes();
      if (holds) why += (why.empty() ? "" : ", ") + condition.in_numbers(situation.quantities);
    }
    if (!holds) continue;
    const double gain = expected_gain(pattern);
    found.push_back({direct, {&pattern, direct ? gain : 1 + kRunnerUpShare * (gain - 1), std::move(why)}});
  }
  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) {
    if (a.direct != b.direct) return a.direct;
    return a.match.expected_gain > b.match.expected_gain;
  });
  std::vector<PatternMatch> matches;
  for (Ranked& ranked : found) matches.push_back(std::move(ranked.match));
  return matches;
}

std::vector<record::PatternHint> hints(std::span<const PatternMatch> matches) {
  std::vector<record::PatternHint> list;
  for (const PatternMatch& match : matches) {
    const Pattern& pattern = *match.pattern;
    list.push_back({.pattern = pattern.name,
                    .title = pattern.title,
                    .fix = pattern.fix,
                    .phase = pattern.phase,
                    .why = match.why,
                    .expected_gain = match.expected_gain,
                    .evidence = pattern.evidence,
                    .cost = pattern.cost,
                    .tunable = pattern.tunable,
                    .variants = pattern.variants});
  }
  return list;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "patterns/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dent {
namespace {

constexpr int kEnoughTries = 3;         // from there on, evidence outweighs what the pattern promises
constexpr double kPromise = 1.1;        // of a pattern that promises nothing
constexpr double kRunnerUpShare = 0.5;  // of a gain against what is not the bottleneck

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool applies(const Pattern& pattern, const Situation& situation) {
  if (!pattern.devices.empty() && !contains(pattern.devices, situation.device)) return false;
  if (!pattern.operators.empty() && !contains(pattern.operators, situation.op)) return false;
  if (situation.arch > 0 && pattern.from_arch > situation.arch) return false;
  return situation.arch == 0 || pattern.to_arch == 0 || situation.arch <= pattern.to_arch;
}

// What tries have shown, mixed with the promise while tries are few. A try that failed brought nothing.
double expected_gain(const Pattern& pattern) {
  const double promise = pattern.expected_gain.value_or(kPromise);
  const Evidence& seen = pattern.evidence;
  if (seen.tries == 0) return promise;
  const double worked = static_cast<double>(seen.tries - seen.failures) / seen.tries;
  const double shown = 1 + worked * (seen.median_gain.value_or(1) - 1);
  const double weight = std::min(1.0, static_cast<double>(seen.tries) / kEnoughTries);
  return weight * shown + (1 - weight) * promise;
}

nlohmann::json evidence_json(const Evidence& evidence) {
  nlohmann::json record{{"tries", evidence.tries}, {"kept", evidence.kept}, {"failures", evidence.failures}};
  if (evidence.median_gain) record["median_gain"] = *evidence.median_gain;
  return record;
}

}  // namespace

Situation situation_of(const nlohmann::json& diagnosis) {
  return {.bottleneck = diagnosis.value("bottleneck", ""),
          .runner_up = diagnosis.value("runner_up_holds", false) ? diagnosis.value("runner_up", "") : "",
          .quantities = quantities_of(diagnosis.value("metrics", nlohmann::json::object())),
          .device = diagnosis.value("device", ""),
          .op = diagnosis.value("operator", ""),
          .arch = diagnosis.value("arch", 0)};
}

std::vector<PatternMatch> match(std::span<const Pattern> patterns, const Situation& situation) {
  struct Ranked {
    bool direct;
    PatternMatch match;
  };
  std::vector<Ranked> found;
  for (const Pattern& pattern : patterns) {
    if (pattern.bottlenecks.empty() && pattern.conditions.empty()) continue;  // a way of working, no cure
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

nlohmann::json to_json(std::span<const PatternMatch> matches) {
  nlohmann::json list = nlohmann::json::array();
  for (const PatternMatch& match : matches) {
    const Pattern& pattern = *match.pattern;
    nlohmann::json entry{{"pattern", pattern.name},
                         {"title", pattern.title},
                         {"fix", pattern.fix},
                         {"phase", pattern.phase},
                         {"why", match.why},
                         {"expected_gain", match.expected_gain},
                         {"evidence", evidence_json(pattern.evidence)}};
    if (!pattern.cost.empty()) entry["cost"] = pattern.cost;
    if (pattern.tunable)
      entry["tunable"] = {{"names", pattern.tunable->names}, {"change", pattern.tunable->change}};
    if (!pattern.variants.empty()) entry["variants"] = pattern.variants;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace dent

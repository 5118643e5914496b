// SPDX-License-Identifier: MIT
#include "gates/profile/profile.h"

#include <fmt/format.h>

#include <chrono>

#include "patterns/evidence.h"
#include "patterns/match.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPatterns = 5;  // in a record: those that promise most

json targets_record(const Tree& tree, const Quantities& quantities) {
  json list = json::array();
  for (const Judged& judged : judge_targets(tree, quantities)) {
    if (judged.reading.presence == Presence::missing) continue;
    json entry{{"quantity", judged.target->quantity}, {"label", judged.target->label}};
    if (!judged.target->unit.empty()) entry["unit"] = judged.target->unit;
    if (judged.reading.presence == Presence::value) {
      entry["value"] = judged.reading.value;
    } else {
      entry["absent"] = name(judged.reading.presence);
    }
    if (!judged.target->good.empty()) entry["target"] = judged.target->good.front().text();
    if (judged.verdict != Judged::Verdict::none) entry["good"] = judged.verdict == Judged::Verdict::good;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string reason_of(const Profile& profile, const Diagnosis& diagnosis) {
  std::string reason =
      diagnosis.refused() ? "no diagnosis: " + diagnosis.refusal : diagnosis.title + ": " + diagnosis.says;
  if (!profile.degraded.empty()) reason += " (degraded: " + profile.degraded + ")";
  return reason;
}

}  // namespace

json diagnosis_record(const Problem& problem, const std::string& op, const Profile& profile, const Tree& tree,
                      const Diagnosis& diagnosis) {
  json record = to_json(profile);
  record.update(to_json(diagnosis));
  record["shape"] = problem.shape;
  record["operator"] = op;
  record["bytes"] = problem.bytes;
  if (problem.flops > 0) record["flops"] = problem.flops;
  record["targets"] = targets_record(tree, profile.quantities);
  return record;
}

GateResult ProfileGate::run(const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                            const Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  Profile profile = kernel.device == DeviceKind::cuda
                        ? profile_gpu(workshop_, kernel, problem, seed, artifacts_, progress)
                        : profile_cpu(workshop_, kernel, problem, seed, progress);
  progress(0.9, "diagnosing");
  const Tree tree = load_tree(workshop_.resources().diagnose / profile.tree);
  const Diagnosis diagnosis = diagnose(tree, profile.quantities);
  profile.seconds = seconds_since(start);
  json record = diagnosis_record(problem, workshop_.project().op.name, profile, tree, diagnosis);

  std::vector<Pattern> patterns =
      load_patterns(workshop_.resources().patterns, workshop_.project().directory);
  learn(patterns, store_);
  std::vector<PatternMatch> matches = match(patterns, situation_of(record));
  if (matches.size() > kMostPatterns) matches.resize(kMostPatterns);
  record["patterns"] = to_json(matches);

  GateResult result = passed(reason_of(profile, diagnosis));
  if (!matches.empty()) {
    result.next = fmt::format("{}: {}", matches.front().pattern->name, matches.front().pattern->fix);
  } else if (!diagnosis.refused()) {
    result.next = diagnosis.advice;
  }
  result.records.emplace_back("diagnosis", std::move(record));
  return result;
}

}  // namespace dent

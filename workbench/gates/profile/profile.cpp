// SPDX-License-Identifier: MIT
#include "gates/profile/profile.h"

#include <fmt/format.h>

#include <chrono>

#include "base/stopwatch.h"
#include "patterns/evidence.h"
#include "patterns/match.h"

namespace dent {
namespace {

constexpr std::size_t kMostPatterns = 5;  // in a record: those that promise most

std::vector<record::TargetRow> target_rows(const Tree& tree, const Quantities& quantities) {
  std::vector<record::TargetRow> rows;
  for (const Judged& judged : judge_targets(tree, quantities)) {
    if (judged.reading.presence == Presence::missing) continue;
    record::TargetRow row{
        .quantity = judged.target->quantity, .label = judged.target->label, .unit = judged.target->unit};
    if (judged.reading.presence == Presence::value) {
      row.value = judged.reading.value;
    } else {
      row.absent = name(judged.reading.presence);
    }
    if (!judged.target->good.empty()) row.target = judged.target->good.front().text();
    if (judged.verdict != Judged::Verdict::none) row.good = judged.verdict == Judged::Verdict::good;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string reason_of(const Profile& profile, const Diagnosis& diagnosis) {
  std::string reason =
      diagnosis.refused() ? "no diagnosis: " + diagnosis.refusal : diagnosis.title + ": " + diagnosis.says;
  if (!profile.degraded.empty()) reason += " (degraded: " + profile.degraded + ")";
  return reason;
}

}  // namespace

record::Diagnosis diagnosis_record(const Problem& problem, const std::string& op, const Profile& profile,
                                   const Tree& tree, const Diagnosis& diagnosis) {
  record::Diagnosis record{.shape = problem.shape,
                           .op = op,
                           .tool = profile.tool,
                           .tree = profile.tree,
                           .why = profile.degraded,
                           .kernel = profile.kernel,
                           .limiter = profile.limiter,
                           .report = profile.report,
                           .device = profile.device,
                           .arch = profile.arch,
                           .degraded = !profile.degraded.empty(),
                           .launches = profile.launches,
                           .metrics = profile.quantities,
                           .targets = target_rows(tree, profile.quantities),
                           .absent = profile.absent,
                           .notes = profile.notes,
                           .finding = diagnosis,
                           .patterns = {},
                           .bytes = problem.bytes,
                           .tool_s = profile.tool_seconds,
                           .elapsed_s = profile.seconds};
  if (problem.flops > 0) record.flops = problem.flops;
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
  record::Diagnosis record = diagnosis_record(problem, workshop_.project().op.name, profile, tree, diagnosis);

  std::vector<Pattern> patterns =
      load_patterns(workshop_.resources().patterns, workshop_.project().directory);
  learn(patterns, store_);
  std::vector<PatternMatch> matches = match(patterns, situation_of(record));
  if (matches.size() > kMostPatterns) matches.resize(kMostPatterns);
  record.patterns = hints(matches);

  std::string next;
  if (!matches.empty()) {
    next = fmt::format("{}: {}", matches.front().pattern->name, matches.front().pattern->fix);
  } else if (!diagnosis.refused()) {
    next = diagnosis.advice;
  }
  GateResult result = passed(reason_of(profile, diagnosis), std::move(next));
  result.records.emplace_back(std::move(record));
  return result;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Finds out why a kernel is not faster: runs one call under a profiler and names one bottleneck, with its
// evidence and the patterns that address it. Runs in a session if a shape is below performance.profile_below.
#include "gates/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"
#include "gates/context.h"
#include "gates/registry.h"
#include "patterns/evidence.h"
#include "patterns/match.h"

namespace dent {
namespace {

constexpr double kSeconds = 15;
constexpr std::size_t kMostPatterns = 5;  // most patterns in a record, the most promising first

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

std::vector<std::string> input_types(const Problem& problem) {
  std::vector<std::string> types;
  for (const Tensor& input : problem.inputs) {
    const std::string type{name(input.dtype)};
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

class ProfileGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "profile",
        .command = "profile",
        .question = "What holds it back?",
        .about = "Find out why the kernel is not faster: one call under a profiler, one named bottleneck",
        .passes_when = "one named bottleneck, or what is missing to name it ([profile](profile.md))",
        .example = "  dent profile my-kernel\n  dent profile --shape medium",
        .scope = Scope::worst_shape,
        .needs = {"build", "correctness"},  // the profile of a wrong kernel means nothing
        .in_run = InRun::when_slow,
        .kinds = {"diagnosis", "roofline"}};
    return kInfo;
  }

  PlanEntry plan(const Project&) const override {
    return {kSeconds, "one bottleneck, or what is missing to name it"};
  }

  // Passes with the record "diagnosis" whether or not there is an answer, since a refusal says what is
  // missing. Throws KernelFailed if the kernel fails, but not if a profiler does.
  GateResult run(GateContext& at) const override;

  // A kernel that was too slow is still profiled, so that the next step is known.
  bool runs_after(Cause cause) const override {
    return cause == Cause::slower || cause == Cause::ambiguous || cause == Cause::busy_machine;
  }
};

}  // namespace

void put_flops_share(Quantities& quantities, const Problem& problem, double ns, const Peaks& peaks) {
  if (problem.flops > 0) return quantities.set("flops_share", 100 * problem.flops / ns / peaks.gflops);
  quantities.not_applicable("flops_share", "the manifest does not say how many operations it takes (flops)");
}

record::Diagnosis diagnosis_record(const Problem& problem, const Operator& op, const Profile& profile,
                                   const Tree& tree, const Diagnosis& diagnosis) {
  record::Diagnosis record{.shape = problem.shape,
                           .op = op.name,
                           .tool = profile.tool,
                           .tree = profile.tree,
                           .why = profile.degraded,
                           .kernel = profile.kernel,
                           .limiter = profile.limiter,
                           .report = profile.report,
                           .family = op.family,
                           .dtypes = input_types(problem),
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

GateResult ProfileGate::run(GateContext& at) const {
  const Kernel& kernel = at.kernel();
  const Problem& problem = *at.problem;
  at.sides.restart();  // so that no other worker runs during the profile
  const auto start = std::chrono::steady_clock::now();
  Profile profile = kernel.device == DeviceKind::cuda
                        ? profile_gpu(at.workers(), kernel, problem, at.seed, at.artifacts(), at.progress)
                        : profile_cpu(at.workers(), kernel, problem, at.seed, at.artifacts(), at.progress);
  at.progress(0.9, "diagnosing");
  const Tree tree = load_tree(at.workers().resources().diagnose / profile.tree);
  const Diagnosis diagnosis = diagnose(tree, profile.quantities);
  profile.seconds = seconds_since(start);
  record::Diagnosis record = diagnosis_record(problem, at.project().op, profile, tree, diagnosis);

  std::vector<Pattern> patterns = load_patterns(at.workers().resources().patterns, at.project().directory);
  learn(patterns, at.store);
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
  if (const auto peaks = device_peaks(kernel.device, at.facts.session().device_name))
    result.records.emplace_back(roofline_of(*peaks));
  return result;
}

const Gate& profile_gate() {
  static const ProfileGate gate;
  return gate;
}

}  // namespace dent

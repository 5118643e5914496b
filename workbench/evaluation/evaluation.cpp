// SPDX-License-Identifier: MIT
#include "evaluation/evaluation.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>

#include "base/stopwatch.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/performance/performance.h"
#include "gates/sanitize/sanitize.h"
#include "system/strays.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStartShare = 0.4;  // of the time box, for each start of the confirmation
constexpr int kTimeBoxes = 5;  // time boxes, each twice as long, while a busy machine gives too few samples

class Evaluation {
 public:
  Evaluation(const EvaluationContext& context, const Kernel& candidate, const Kernel& incumbent,
             const EvaluationRules& rules, const PerformTrial& perform, const Progress& progress)
      : context_(context),
        candidate_(candidate),
        incumbent_(incumbent),
        rules_(rules),
        perform_(perform),
        progress_(progress) {}

  Outcome run() {
    const auto start = Clock::now();
    through_the_gates();
    outcome_.elapsed_s = seconds_since(start);
    return std::move(outcome_);
  }

 private:
  void through_the_gates() {
    if (!passes(TrialStage::build, "", [&] { return build(); })) return;
    if (same_program()) {
      dropped(TrialStage::build, "the same program as the incumbent, to the bit");
      return;
    }
    for (const Problem& problem : context_.workshop.problems()) {  // smallest first
      if (!passes(TrialStage::correctness, problem.shape, [&] { return check(problem); })) return;
    }
    if (rules_.sanitize && !passes(TrialStage::sanitize, "", [&] {
          return SanitizeGate(context_.workshop).run(candidate_, secret_seed(), progress_);
        })) {
      return;
    }
    if (!wins_the_screening() || !wins_the_confirmation()) return;
    outcome_.kept = true;
    outcome_.stage = TrialStage::kept;
  }

  GateResult build() {
    adopt_orphans(false);  // a compiler may leave its server behind
    GateResult result = BuildGate(context_.workshop, false).run(candidate_, progress_);
    adopt_orphans(true);
    return result;
  }

  // A macro that nothing reads: there is nothing to measure.
  bool same_program() {
    if (!candidate_.python.empty()) return false;
    const std::string ours = context_.workshop.build(candidate_).binary_hash;
    return !ours.empty() && ours == context_.workshop.build(incumbent_).binary_hash;
  }

  GateResult check(const Problem& problem) {
    Worker& worker = candidate();
    worker.resume();
    return CorrectnessGate(context_.workshop, context_.oracle).run(worker, problem, secret_seed(), progress_);
  }

  // All shapes side by side with the incumbent, or until one of them settles it.
  bool wins_the_screening() {
    if (!measure_all(TrialStage::screening, "", 1)) return false;
    const Judgement judgement = judge_gains(outcome_.shapes, rules_.keep);
    outcome_.gain = judgement.mean;
    outcome_.reason = judgement.reason;
    outcome_.stage = TrialStage::screening;
    return judgement.faster;
  }

  // Again, with both programs started anew each time; see evaluation/keep_rule.h.
  bool wins_the_confirmation() {
    std::vector<double> means;
    std::map<std::string, std::vector<ShapeGain>> starts;
    for (int start = 1; start <= kLastLook; ++start) {
      end_workers();
      if (!measure_all(TrialStage::confirmation, fmt::format("{}/", start), kStartShare)) return false;
      double sum = 0;
      for (const ShapeGain& gain : outcome_.shapes) {
        starts[gain.shape].push_back(gain);
        sum += std::log(gain.ratio.centre);
      }
      means.push_back(sum / static_cast<double>(outcome_.shapes.size()));
      if (start != kFirstLook && start != kLastLook) continue;
      for (ShapeGain& gain : outcome_.shapes) gain = together(starts.at(gain.shape));
      const Judgement judgement =
          judge_gains(outcome_.shapes, rules_.keep, over_starts(means, rules_.confirmation_alpha / 2));
      outcome_.gain = judgement.mean;
      outcome_.reason = fmt::format("{}, {} starts", judgement.reason, start);
      outcome_.stage = TrialStage::confirmation;
      if (judgement.faster) return true;
      if (judgement.mean->centre < 1 + rules_.keep.min_gain)
        return false;  // more starts would not make it worth it
    }
    return false;
  }

  ShapeGain together(const std::vector<ShapeGain>& starts) const {
    std::vector<double> logs, incumbent, candidate;
    for (const ShapeGain& gain : starts) {
      logs.push_back(std::log(gain.ratio.centre));
      incumbent.push_back(gain.incumbent_ns);
      candidate.push_back(gain.candidate_ns);
    }
    return {starts.front().shape, over_starts(logs, rules_.screening_alpha), median(incumbent),
            median(candidate)};
  }

  // `share` of the time box for each shape. False when that ended it.
  bool measure_all(TrialStage stage, const std::string& prefix, double share) {
    outcome_.shapes.clear();
    for (const Problem& problem : context_.workshop.problems()) {
      const GateResult measured = trial(stage, prefix + problem.shape, [&] {
        return measure_against(context_, candidate(), incumbent(), Against::incumbent, problem,
                               rules_.screening_alpha, progress_, share);
      });
      if (const Failed* how = measured.failed()) return ended(stage, *how);
      const auto gain = gain_of(measured);
      if (!gain) return dropped(stage, problem.shape + ": too few samples for an interval");
      outcome_.shapes.push_back(*gain);
      if (stage == TrialStage::screening && loses_too_much(*gain, rules_.keep)) {
        outcome_.gain.reset();
        return dropped(TrialStage::guard,
                       fmt::format("{} loses: {:.3f}x ({:.3f} to {:.3f})", gain->shape, gain->ratio.centre,
                                   gain->ratio.interval.low, gain->ratio.interval.high));
      }
    }
    return true;
  }

  // `part`: of the stage, a shape or a start and a shape; "" where it has no parts.
  GateResult trial(TrialStage stage, const std::string& part, const std::function<GateResult()>& gate) {
    const std::string trial_name = std::string(name(stage)) + (part.empty() ? "" : "/" + part);
    const auto start = Clock::now();
    GateResult result = perform_(trial_name, [&] {
      progress_(0, trial_name);
      try {
        return gate();
      } catch (const KernelFailed&) {
        end_workers();
        throw;
      }
    });
    (stage == TrialStage::build ? outcome_.build_s : outcome_.kernel_s) += seconds_since(start);
    return result;
  }

  bool passes(TrialStage stage, const std::string& part, const std::function<GateResult()>& gate) {
    const GateResult result = trial(stage, part, gate);
    const Failed* how = result.failed();
    return how == nullptr || ended(stage, *how);
  }

  bool ended(TrialStage stage, const Failed& how) {
    outcome_.cause = how.cause;
    outcome_.next = how.next;
    outcome_.last_words = how.last_words;
    return dropped(stage, how.reason);
  }

  bool dropped(TrialStage stage, const std::string& reason) {
    outcome_.stage = stage;
    outcome_.reason = reason;
    return false;
  }

  Worker& candidate() { return started(candidate_worker_, candidate_, Role::candidate); }
  Worker& incumbent() { return started(incumbent_worker_, incumbent_, Role::incumbent); }
  Worker& started(std::unique_ptr<Worker>& worker, const Kernel& kernel, Role role) {
    if (!worker) worker = context_.workshop.start(kernel, role);
    return *worker;
  }
  void end_workers() {
    candidate_worker_.reset();
    incumbent_worker_.reset();
  }

  const EvaluationContext& context_;
  const Kernel& candidate_;
  const Kernel& incumbent_;
  const EvaluationRules& rules_;
  const PerformTrial& perform_;
  const Progress& progress_;
  Outcome outcome_;
  std::unique_ptr<Worker> candidate_worker_, incumbent_worker_;
};

}  // namespace

Outcome evaluate(const EvaluationContext& context, const Kernel& candidate, const Kernel& incumbent,
                 const EvaluationRules& rules, const PerformTrial& perform, const Progress& progress) {
  return Evaluation(context, candidate, incumbent, rules, perform, progress).run();
}

GateResult measure_against(const EvaluationContext& context, Worker& candidate, Worker& other,
                           Against against, const Problem& problem, double alpha, const Progress& progress,
                           double share) {
  PerformanceRules rules = context.workshop.project().performance;
  rules.seconds *= share;
  rules.alpha = alpha;
  rules.stop_below = 0;
  GateResult result;
  for (int attempt = 0; attempt < kTimeBoxes; ++attempt, rules.seconds *= 2) {
    result = PerformanceGate(context.workshop, context.oracle, rules, against)
                 .run(candidate, other, problem, secret_seed(), progress);
    if (result.failed() != nullptr || gain_of(result)) break;
  }
  if (context.peaks) refuse_the_impossible(result, problem, *context.peaks, rules.flush);
  return result;
}

std::optional<ShapeGain> gain_of(const GateResult& measured) {
  const auto* comparison = measured.last<record::Comparison>();
  if (comparison == nullptr || !comparison->ratio) return std::nullopt;
  return ShapeGain{comparison->shape, *comparison->ratio, comparison->baseline_ns, comparison->candidate_ns};
}

}  // namespace dent

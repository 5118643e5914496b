// SPDX-License-Identifier: MIT
#include "evaluation/evaluation.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>

#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/performance/performance.h"
#include "gates/sanitize/sanitize.h"
#include "records/sampling_records.h"
#include "system/strays.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStartShare = 0.4;  // of the time box, for each start of the confirmation
constexpr int kTimeBoxes = 5;  // time boxes, each twice as long, while a busy machine gives too few samples

class Evaluation {
 public:
  Evaluation(const Stage& stage, const Kernel& candidate, const Kernel& incumbent,
             const EvaluationRules& rules, TrialBook& book, const Progress& progress)
      : stage_(stage),
        candidate_(candidate),
        incumbent_(incumbent),
        rules_(rules),
        book_(book),
        progress_(progress) {}

  Outcome run() {
    const auto start = Clock::now();
    through_the_gates();
    outcome_.elapsed_s = seconds_since(start);
    return std::move(outcome_);
  }

 private:
  void through_the_gates() {
    if (!passes("build", "build", [&] { return build(); })) return;
    if (same_program()) {
      dropped("build", "the same program as the incumbent, to the bit");
      return;
    }
    const auto& problems = stage_.workshop.problems();
    for (const Problem& problem : problems) {  // smallest first
      if (!passes("correctness/" + problem.shape, "correctness", [&] { return check(problem); })) return;
    }
    if (rules_.sanitize && !passes("sanitize", "sanitize", [&] {
          return SanitizeGate(stage_.workshop).run(candidate_, secret_seed(), progress_);
        })) {
      return;
    }
    if (!wins_the_screening() || !wins_the_confirmation()) return;
    outcome_.kept = true;
    outcome_.stage = "kept";
  }

  GateResult build() {
    adopt_orphans(false);  // a compiler may leave its server behind
    GateResult result = BuildGate(stage_.workshop, false).run(candidate_, progress_);
    adopt_orphans(true);
    return result;
  }

  // A macro that nothing reads: there is nothing to measure.
  bool same_program() {
    if (!candidate_.python.empty()) return false;
    const std::string ours = stage_.workshop.build(candidate_).binary_hash;
    return !ours.empty() && ours == stage_.workshop.build(incumbent_).binary_hash;
  }

  GateResult check(const Problem& problem) {
    Worker& worker = candidate();
    worker.resume();
    return CorrectnessGate(stage_.workshop, stage_.oracle).run(worker, problem, secret_seed(), progress_);
  }

  // All shapes side by side with the incumbent, or until one of them settles it.
  bool wins_the_screening() {
    if (!measure_all("screening", 1)) return false;
    const Judgement judgement = judge_gains(outcome_.shapes, rules_.keep);
    outcome_.gain = judgement.mean;
    outcome_.reason = judgement.reason;
    outcome_.stage = "screening";
    return judgement.faster;
  }

  // Again, with both programs started anew each time; see loop/keep_rule.h.
  bool wins_the_confirmation() {
    std::vector<double> means;
    std::map<std::string, std::vector<ShapeGain>> starts;
    for (int start = 1; start <= kLastLook; ++start) {
      end_workers();
      if (!measure_all(fmt::format("confirmation/{}", start), kStartShare)) return false;
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
      outcome_.stage = "confirmation";
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
  bool measure_all(const std::string& stage, double share) {
    outcome_.shapes.clear();
    for (const Problem& problem : stage_.workshop.problems()) {
      const GateResult measured = trial(stage + "/" + problem.shape, [&] {
        return measure_against(stage_, candidate(), incumbent(), problem, rules_.screening_alpha, progress_,
                               share);
      });
      if (measured.verdict == GateVerdict::fail) return ended(stage, measured);
      const auto gain = gain_of(measured);
      if (!gain) return dropped(stage, problem.shape + ": too few samples for an interval");
      outcome_.shapes.push_back(*gain);
      if (stage == "screening" && loses_too_much(*gain, rules_.keep)) {
        outcome_.gain.reset();
        return dropped("guard",
                       fmt::format("{} loses: {:.3f}x ({:.3f} to {:.3f})", gain->shape, gain->ratio.centre,
                                   gain->ratio.interval.low, gain->ratio.interval.high));
      }
    }
    return true;
  }

  template <class Gate>
  GateResult trial(const std::string& name, const Gate& gate) {
    if (auto known = book_.find(name)) return *known;
    const auto start = Clock::now();
    GateResult result;
    try {
      progress_(0, name);
      result = gate();
    } catch (const KernelFailed& problem) {
      result = failed(problem.failure());
      end_workers();
    }
    const double seconds = seconds_since(start);
    (name == "build" ? outcome_.build_s : outcome_.kernel_s) += seconds;
    book_.keep(name, result, seconds);
    return result;
  }

  template <class Gate>
  bool passes(const std::string& name, const std::string& stage, const Gate& gate) {
    const GateResult result = trial(name, gate);
    return result.verdict != GateVerdict::fail || ended(stage, result);
  }

  bool ended(const std::string& stage, const GateResult& result) {
    outcome_.cause = result.cause;
    outcome_.next = result.next;
    outcome_.last_words = result.last_words;
    return dropped(stage, result.reason);
  }

  bool dropped(const std::string& stage, const std::string& reason) {
    outcome_.stage = stage;
    outcome_.reason = reason;
    return false;
  }

  Worker& candidate() { return started(candidate_worker_, candidate_, "candidate"); }
  Worker& incumbent() { return started(incumbent_worker_, incumbent_, "incumbent"); }
  Worker& started(std::unique_ptr<Worker>& worker, const Kernel& kernel, const char* role) {
    if (!worker) worker = stage_.workshop.start(kernel, role);
    return *worker;
  }
  void end_workers() {
    candidate_worker_.reset();
    incumbent_worker_.reset();
  }

  const Stage& stage_;
  const Kernel& candidate_;
  const Kernel& incumbent_;
  const EvaluationRules& rules_;
  TrialBook& book_;
  const Progress& progress_;
  Outcome outcome_;
  std::unique_ptr<Worker> candidate_worker_, incumbent_worker_;
};

}  // namespace

Outcome evaluate(const Stage& stage, const Kernel& candidate, const Kernel& incumbent,
                 const EvaluationRules& rules, TrialBook& book, const Progress& progress) {
  return Evaluation(stage, candidate, incumbent, rules, book, progress).run();
}

GateResult measure_against(const Stage& stage, Worker& candidate, Worker& other, const Problem& problem,
                           double alpha, const Progress& progress, double share) {
  PerformanceRules rules = stage.workshop.project().performance;
  rules.seconds *= share;
  rules.alpha = alpha;
  rules.stop_below = 0;
  GateResult result;
  for (int attempt = 0; attempt < kTimeBoxes; ++attempt, rules.seconds *= 2) {
    result = PerformanceGate(stage.workshop, stage.oracle, rules)
                 .run(candidate, other, problem, secret_seed(), progress);
    if (result.verdict == GateVerdict::fail || gain_of(result)) break;
  }
  if (stage.peaks) refuse_the_impossible(result, problem, *stage.peaks, rules.flush);
  return result;
}

std::optional<ShapeGain> gain_of(const GateResult& measured) {
  for (const auto& [kind, data] : measured.records) {
    if (kind != "comparison" || !data.contains("ratio")) continue;
    return ShapeGain{data.at("shape"), ratio_of(data.at("ratio")), data.at("baseline_ns"),
                     data.at("candidate_ns")};
  }
  return std::nullopt;
}

}  // namespace dent

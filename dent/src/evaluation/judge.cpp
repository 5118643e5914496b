// SPDX-License-Identifier: MIT
#include "evaluation/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "measure/interval.h"

namespace dent {
namespace {

using Next = std::variant<Trial, Outcome>;

Doubt doubt_of(const GateResult& measured) {
  const auto* comparison = measured.last<record::Comparison>();
  return comparison == nullptr ? Doubt{} : comparison->doubt.value_or(Doubt{});
}

class Judge {
 public:
  Judge(std::span<const GateResult> ended, const EvaluationRules& rules, std::span<const Shape> shapes)
      : ended_(ended), rules_(rules), shapes_(shapes) {}

  Next next() {
    if (auto next = must_pass({TrialStage::build})) return *next;
    // For example, a macro that no code reads was changed: there is nothing to measure.
    const auto* built = ended_[at_ - 1].last<record::Build>();
    if (built != nullptr && !built->binary_hash.empty() && built->binary_hash == built->incumbent_hash)
      return dropped(TrialStage::build, "the same program as the incumbent, bit for bit");
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      if (auto next = must_pass({TrialStage::correctness, shape})) return *next;
    }
    if (rules_.sanitize) {
      if (auto next = must_pass({TrialStage::sanitize})) return *next;
    }
    if (auto next = screening()) return *next;
    if (auto next = confirmation()) return *next;
    outcome_.kept = true;
    outcome_.stage = TrialStage::kept;
    return outcome_;
  }

 private:
  // Returns nothing if the trial ended well, so that the next one can run.
  std::optional<Next> must_pass(const Trial& trial) {
    if (at_ == ended_.size()) return trial;
    const Failed* how = ended_[at_++].failed();
    if (how == nullptr) return std::nullopt;
    outcome_.cause = how->cause;
    outcome_.next = how->next;
    outcome_.last_words = how->last_words;
    return dropped(trial.stage, how->reason);
  }

  Outcome dropped(TrialStage stage, std::string reason) {
    outcome_.stage = stage;
    outcome_.reason = std::move(reason);
    return outcome_;
  }

  Outcome too_busy(TrialStage stage, const std::string& found) {
    outcome_.cause = Cause::busy_machine;
    outcome_.next = "wait for the other programs to end (top lists them), then try it again";
    return dropped(stage, fmt::format("the machine was too busy to tell ({})", found));
  }

  // Measures all shapes against the incumbent, until one of them settles the result.
  std::optional<Next> screening() {
    if (auto next = measure(TrialStage::screening, 0)) return next;
    const Judgement judgement = judge_gains(outcome_.shapes, rules_.keep);
    outcome_.gain = judgement.mean;
    if (judgement.faster) return std::nullopt;
    return judgement.too_busy ? too_busy(TrialStage::screening, judgement.reason)
                              : dropped(TrialStage::screening, judgement.reason);
  }

  // Measures again, with both programs started anew each time; evaluation/keep_rule.h explains why.
  std::optional<Next> confirmation() {
    std::vector<double> means;
    std::map<std::string, std::vector<ShapeGain>> starts;
    doubts_.clear();
    for (int start = 1; start <= kLastLook; ++start) {
      if (auto next = measure(TrialStage::confirmation, start)) return next;
      for (const ShapeGain& gain : outcome_.shapes) starts[gain.shape].push_back(gain);
      means.push_back(std::log(mean_of(outcome_.shapes).centre));
      if (start != kFirstLook && start != kLastLook) continue;
      for (ShapeGain& gain : outcome_.shapes) gain = together(starts.at(gain.shape));
      std::vector<Doubt> all;
      std::vector<double> weights;
      for (const ShapeGain& gain : outcome_.shapes) {
        for (const Doubt& doubt : doubts_.at(gain.shape)) {
          all.push_back(doubt);
          weights.push_back(gain.weight);
        }
      }
      const Judgement judgement =
          judge_gains(outcome_.shapes, rules_.keep,
                      widened(over_starts(means, rules_.confirmation_alpha / 2), mean_doubt(all, weights)));
      outcome_.gain = judgement.mean;
      outcome_.reason = fmt::format("{}, {} starts", judgement.reason, start);
      outcome_.stage = TrialStage::confirmation;
      if (judgement.faster) return std::nullopt;
      // The gain is too small; more starts would not change that.
      const bool last = start == kLastLook || judgement.mean->centre < 1 + rules_.keep.min_gain;
      if (last && judgement.too_busy) return too_busy(TrialStage::confirmation, outcome_.reason);
      if (last) break;
    }
    return outcome_;
  }

  // Requests a measurement of each timed shape. Returns nothing if all are measured and their gains are in
  // the outcome.
  std::optional<Next> measure(TrialStage stage, int start) {
    outcome_.shapes.clear();
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      if (!shapes_[shape].timed()) continue;
      if (auto next = must_pass({stage, shape, start})) return next;
      const auto gain = gain_of(ended_[at_ - 1]);
      if (!gain) {
        const std::string few = shapes_[shape].name + ": too few samples for an interval";
        const auto* comparison = ended_[at_ - 1].last<record::Comparison>();
        return comparison != nullptr && comparison->busy ? too_busy(stage, few) : dropped(stage, few);
      }
      outcome_.shapes.push_back(*gain);
      doubts_[gain->shape].push_back(doubt_of(ended_[at_ - 1]));
      if (stage != TrialStage::screening || !loses_too_much(*gain, rules_.keep)) continue;
      outcome_.gain.reset();
      return dropped(TrialStage::guard,
                     fmt::format("{} loses: {:.3f}x ({:.3f} to {:.3f})", gain->shape, gain->ratio.centre,
                                 gain->ratio.interval.low, gain->ratio.interval.high));
    }
    return std::nullopt;
  }

  ShapeGain together(const std::vector<ShapeGain>& starts) const {
    std::vector<double> logs, incumbent, candidate;
    for (const ShapeGain& gain : starts) {
      logs.push_back(std::log(gain.ratio.centre));
      incumbent.push_back(gain.incumbent_ns);
      candidate.push_back(gain.candidate_ns);
    }
    const std::string& shape = starts.front().shape;
    const Ratio ratio = widened(over_starts(logs, rules_.screening_alpha), mean_doubt(doubts_.at(shape)));
    const bool busy = std::ranges::any_of(starts, [](const ShapeGain& gain) { return gain.busy; });
    return {shape, ratio, median(incumbent), median(candidate), starts.front().weight, busy};
  }

  std::span<const GateResult> ended_;
  std::size_t at_ = 0;  // index of the next trial in ended_
  const EvaluationRules& rules_;
  std::span<const Shape> shapes_;
  Outcome outcome_;
  // By shape, one per measurement. The scatter between starts does not include them, because the causes of
  // doubt are equal in every start.
  std::map<std::string, std::vector<Doubt>> doubts_;
};

}  // namespace

std::string name_of(const Trial& trial, std::span<const Shape> shapes) {
  const std::string stage(name(trial.stage));
  switch (trial.stage) {
    case TrialStage::correctness:
    case TrialStage::screening:
      return stage + "/" + shapes[trial.shape].name;
    case TrialStage::confirmation:
      return fmt::format("{}/{}/{}", stage, trial.start, shapes[trial.shape].name);
    case TrialStage::refused:
    case TrialStage::build:
    case TrialStage::sanitize:
    case TrialStage::guard:
    case TrialStage::kept:
      break;
  }
  return stage;
}

std::variant<Trial, Outcome> judge(std::span<const GateResult> ended, const EvaluationRules& rules,
                                   std::span<const Shape> shapes) {
  return Judge(ended, rules, shapes).next();
}

std::optional<ShapeGain> gain_of(const GateResult& measured) {
  const auto* comparison = measured.last<record::Comparison>();
  if (comparison == nullptr || !comparison->ratio) return std::nullopt;
  return ShapeGain{comparison->shape,        *comparison->ratio, comparison->baseline_ns,
                   comparison->candidate_ns, comparison->weight, comparison->busy};
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "loop/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "loop/search/surrogate.h"
#include "project/choice.h"

namespace dent {
namespace {

constexpr double kHopeless = 5e-4;  // expected gain below which there is nothing left to try
constexpr double kFailedCost =
    0.7;  // log of speed that a choice which does not build or run is taken to lose
constexpr int kLossesInAPhase = 2;

bool all_numbers(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const std::string& text) {
    double ignored = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ignored);
    return error == std::errc() && end == text.data() + text.size();
  });
}

// What holds under a choice, in full: two choices that say the same in other words are equal.
Choice complete(const Project& project, const Choice& choice) {
  Choice full{choice.variant, {}};
  for (const Tunable* tunable : tunables_of(project, choice))
    full.tunables[tunable->name] = value_of(*tunable, choice);
  return full;
}

class Model {
 public:
  explicit Model(const Brief& brief)
      : brief_(brief), tunables_(tunables_of(*brief.project, brief.incumbent)) {
    Choice at = brief.history.empty() ? brief.incumbent : brief.first;
    learn(at, 0);
    for (const PastIteration& past : brief.history) {
      tried_.push_back(complete(*brief.project, past.choice));
      if (!past.proposal.source) learn(past.choice, incumbent_ + effect(past.outcome));
      if (past.outcome.kept && past.outcome.gain) incumbent_ += std::log(past.outcome.gain->centre);
      if (past.outcome.kept &&
          past.proposal.source) {  // another program: what was learned of the old one is stale
        points_.clear();
        values_.clear();
        learn(past.choice, incumbent_);
        tried_.clear();
      }
    }
    // What is being tried is taken to be as good as the incumbent, so that the next idea is another one.
    for (const PastIteration& pending : brief.pending) {
      tried_.push_back(complete(*brief.project, pending.choice));
      if (!pending.proposal.source) learn(pending.choice, incumbent_);
    }
  }

  double incumbent() const { return incumbent_; }
  bool tried(const Choice& choice) const {
    return std::find(tried_.begin(), tried_.end(), complete(*brief_.project, choice)) != tried_.end();
  }

  std::vector<double> point(const Choice& choice) const {
    std::vector<double> coordinates;
    for (const Tunable* tunable : tunables_) {
      const auto& values = tunable->values;
      const auto at = std::find(values.begin(), values.end(), value_of(*tunable, choice)) - values.begin();
      coordinates.push_back(static_cast<double>(at) /
                            static_cast<double>(std::max<std::size_t>(values.size() - 1, 1)));
    }
    return coordinates;
  }

  Surrogate surrogate() const {
    std::vector<bool> ordered;
    for (const Tunable* tunable : tunables_) ordered.push_back(all_numbers(tunable->values));
    if (points_.empty())
      return Surrogate({point(brief_.incumbent)}, std::vector<double>{incumbent_}, ordered);
    return Surrogate(points_, values_, ordered);
  }

 private:
  void learn(const Choice& choice, double log_speed) {
    if (choice.variant != brief_.incumbent.variant) return;
    points_.push_back(point(choice));
    values_.push_back(log_speed);
  }

  static double effect(const Outcome& outcome) {
    if (outcome.gain) return std::log(outcome.gain->centre);
    if (outcome.shapes.empty()) return -kFailedCost;
    return std::log(mean_of(outcome.shapes).centre);
  }

  const Brief& brief_;
  std::vector<const Tunable*> tunables_;
  std::vector<std::vector<double>> points_;
  std::vector<double> values_;
  std::vector<Choice> tried_;
  double incumbent_ = 0;  // log of its speed over the start's
};

bool phase_is_over(const Brief& brief) {
  if (brief.phase == Phase::tuning) return false;
  int losses = 0;
  for (const PastIteration& past : brief.history) {
    if (past.proposal.phase != brief.phase || !past.proposal.assignment) continue;
    losses = past.outcome.kept ? 0 : losses + 1;
  }
  return losses >= kLossesInAPhase;
}

}  // namespace

std::optional<Proposal> SearchProposer::propose(const Brief& brief) {
  const Project& project = *brief.project;
  if (phase_is_over(brief)) return std::nullopt;
  const Model model(brief);
  const Surrogate surrogate = model.surrogate();
  std::optional<Proposal> best;
  double most = kHopeless;
  for (const Tunable* tunable : tunables_of(project, brief.incumbent)) {
    if (brief.phase != Phase::tuning && parse_phase(tunable->phase) != brief.phase) continue;
    for (const std::string& value : tunable->values) {
      if (value == value_of(*tunable, brief.incumbent)) continue;
      Choice choice = brief.incumbent;
      choice.tunables[tunable->name] = value;
      if (model.tried(choice) || !broken_constraint(project, choice).empty()) continue;
      if (pruner_ && !pruner_(brief, choice).empty()) continue;
      const Prediction prediction = surrogate.predict(model.point(choice));
      const double expected = expected_improvement(prediction, model.incumbent());
      if (!(expected > most)) continue;
      most = expected;
      Proposal proposal;
      proposal.proposer = name();
      proposal.phase = brief.phase;
      proposal.assignment = Assignment{tunable->name, value};
      proposal.hypothesis = {
          tunable->about.empty() ? fmt::format("{} may not be at its best", tunable->name) : tunable->about,
          fmt::format("{} from {} to {}", tunable->name, value_of(*tunable, brief.incumbent), value),
          fmt::format("{:.3f}x, between {:.3f}x and {:.3f}x, by the model of {} measurements",
                      std::exp(prediction.mean - model.incumbent()),
                      std::exp(prediction.mean - model.incumbent() - 2 * prediction.deviation),
                      std::exp(prediction.mean - model.incumbent() + 2 * prediction.deviation),
                      brief.history.size())};
      best = std::move(proposal);
    }
  }
  return best;
}

}  // namespace dent

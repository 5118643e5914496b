// SPDX-License-Identifier: MIT
#include "loop/state/loop_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dent {
namespace {

// One for each kind of record that says something about a loop; the last takes all others.
class Reader {
 public:
  explicit Reader(LoopState& state) : state_(state) {}
  void read(const Record& record) {
    time_ = record.time;
    std::visit([this](const auto& data) { take(data); }, record.data);
  }

 private:
  void take(const record::Loop& loop) {
    state_.opened = true;
    state_.base = loop.base;
    state_.branch = loop.branch;
    state_.harness = loop.harness;
    state_.target = loop.target.value_or(0);
    state_.target_shape = loop.target_shape;
    state_.most_iterations = loop.iterations;
    state_.minutes = loop.minutes.value_or(0);
    state_.confirmation_alpha = loop.confirmation_alpha;
    state_.start = loop.choice;
    state_.executor = loop.executor;
    state_.parallel = std::max(1, loop.parallel);
  }

  void take(const record::Iteration& begun) {
    state_.ended.reset();  // it goes on, with a larger budget
    state_.winner.reset();
    if (begun.again) {
      Iteration& iteration = find(begun.iteration);
      iteration.time = time_;
      iteration.choice = begun.choice;
      iteration.parent = begun.parent;
      iteration.again = true;
      return;
    }
    state_.iterations.push_back({.number = begun.iteration,
                                 .time = time_,
                                 .proposal = begun.proposal,
                                 .choice = begun.choice,
                                 .parent = begun.parent,
                                 .patch = begun.patch,
                                 .speedup = state_.speedup(),
                                 .measured = state_.measured()});
  }

  void take(const record::Outcome& ended) {
    const double before = state_.speedup();
    const bool measured = state_.measured();
    Iteration& iteration = find(ended.iteration);
    iteration.outcome = ended.outcome;
    iteration.commit = ended.commit;
    iteration.speedup = before;
    iteration.measured = measured;
    if (iteration.outcome->kept && iteration.outcome->gain) {
      iteration.speedup *= iteration.outcome->gain->centre;
      iteration.measured = false;
    }
  }

  // Measured again: what was multiplied together so far gives way to it.
  void take(const record::Standing& standing) {
    if (standing.of == StandingOf::winner) {
      state_.winner = standing;
      return;
    }
    state_.latest = standing;
    if (!state_.first) {
      state_.first = standing;
    } else if (const Iteration* last = state_.last_done()) {
      Iteration& iteration = find(last->number);
      iteration.speedup = standing.ratio.centre;
      iteration.measured = true;
    }
  }

  void take(const record::Diagnosis& diagnosis) { state_.diagnosis = diagnosis; }
  void take(const record::BudgetMark& mark) { state_.warned.push_back(mark); }
  void take(const record::LoopEnd& end) { state_.ended = end; }
  template <class Other>
  void take(const Other&) {}

  Iteration& find(int number) {
    for (Iteration& iteration : state_.iterations) {
      if (iteration.number == number) return iteration;
    }
    throw Error(ErrorCode::invalid, fmt::format("an outcome of iteration {}, which was never begun", number));
  }

  LoopState& state_;
  std::string time_;  // of the record
};

}  // namespace

const Iteration* LoopState::last_kept() const {
  for (auto i = iterations.rbegin(); i != iterations.rend(); ++i) {
    if (i->outcome && i->outcome->kept) return &*i;
  }
  return nullptr;
}

const Iteration* LoopState::last_done() const {
  for (auto i = iterations.rbegin(); i != iterations.rend(); ++i) {
    if (i->outcome) return &*i;
  }
  return nullptr;
}

const Iteration* LoopState::next() const {
  for (const Iteration& iteration : iterations) {
    if (!iteration.outcome) return &iteration;
  }
  return nullptr;
}

std::string LoopState::incumbent_commit() const {
  const Iteration* kept = last_kept();
  return kept != nullptr ? kept->commit : base;
}

Choice LoopState::incumbent() const {
  const Iteration* kept = last_kept();
  return kept != nullptr ? kept->choice : start;
}

double LoopState::speedup() const {
  if (winner) return winner->ratio.centre;
  if (const Iteration* last = last_done()) return last->speedup;
  return first ? first->ratio.centre : 0;
}

double LoopState::towards_target() const {
  if (target_shape.empty() || !first) return speedup();
  const auto at = [this](const std::vector<ShapeGain>& shapes) {
    for (const ShapeGain& gain : shapes) {
      if (gain.shape == target_shape) return gain;
    }
    throw Error(ErrorCode::invalid, "a record without the target's shape, " + target_shape);
  };
  if (winner) return at(winner->shapes).ratio.centre;
  if (measured()) return at(latest->shapes).ratio.centre;
  const Iteration* kept = last_kept();
  return kept == nullptr ? at(first->shapes).ratio.centre
                         : at(first->shapes).incumbent_ns / at(kept->outcome->shapes).candidate_ns;
}

bool LoopState::measured() const {
  const Iteration* last = last_done();
  return last == nullptr ? first.has_value() : last->measured;
}

bool LoopState::reached() const { return target > 0 && measured() && towards_target() >= target; }

std::vector<ShapeNow> LoopState::shapes(const std::vector<Shape>& all) const {
  std::vector<ShapeNow> found;
  for (const Shape& shape : all) {
    ShapeNow now{shape, 0, 0};
    if (first) {
      for (const ShapeGain& gain : first->shapes) {
        if (gain.shape != shape.name) continue;
        now.baseline_ns = gain.incumbent_ns;
        now.incumbent_ns = gain.candidate_ns;
      }
    }
    if (const Iteration* kept = last_kept()) {
      for (const ShapeGain& gain : kept->outcome->shapes) {
        if (gain.shape == shape.name) now.incumbent_ns = gain.candidate_ns;
      }
    }
    found.push_back(std::move(now));
  }
  return found;
}

int LoopState::done() const {
  int count = 0;
  for (const Iteration& iteration : iterations) count += iteration.outcome ? 1 : 0;
  return count;
}

int LoopState::in_flight() const { return static_cast<int>(iterations.size()) - done(); }

std::string where_the_target_counts(const LoopState& state) {
  return state.target_shape.empty() ? "" : " at " + state.target_shape;
}

LoopState state_of(std::span<const Record> records) {
  LoopState state;
  Reader reader(state);
  for (const Record& record : records) reader.read(record);
  return state;
}

}  // namespace dent

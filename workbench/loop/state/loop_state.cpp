// SPDX-License-Identifier: MIT
#include "loop/state/loop_state.h"

#include "base/error.h"
#include "records/sampling_records.h"

namespace dent {
namespace {

using nlohmann::json;

void take_loop(LoopState& state, const json& data) {
  state.opened = true;
  state.base = data.at("base");
  state.branch = data.at("branch");
  state.harness = data.at("harness");
  state.target = data.value("target", 0.0);
  state.target_shape = data.value("target_shape", "");
  state.most_iterations = data.at("iterations");
  state.minutes = data.value("minutes", 0.0);
  state.confirmation_alpha = data.at("confirmation_alpha");
  state.start = choice_of(data.at("choice"));
}

void take_iteration(LoopState& state, const Record& record) {
  state.ended.clear();  // it goes on, with a larger budget
  state.winner.reset();
  Iteration iteration;
  iteration.number = record.data.at("iteration");
  iteration.time = record.time;
  iteration.proposal = proposal_of(record.data);
  iteration.choice = choice_of(record.data.at("choice"));
  iteration.parent = record.data.at("parent");
  iteration.patch = record.data.value("patch", "");
  iteration.speedup = state.speedup();
  iteration.measured = state.measured();
  state.iterations.push_back(std::move(iteration));
}

void take_outcome(LoopState& state, const json& data) {
  const int number = data.at("iteration");
  for (Iteration& iteration : state.iterations) {
    if (iteration.number != number) continue;
    iteration.outcome = outcome_of(data);
    iteration.commit = data.value("commit", "");
    if (iteration.outcome->kept && iteration.outcome->gain) {
      iteration.speedup *= iteration.outcome->gain->centre;
      iteration.measured = false;
    }
    return;
  }
  throw Error(ErrorCode::invalid, "an outcome of an iteration that was never begun");
}

// Measured again: what was multiplied together so far gives way to it.
void take_standing(LoopState& state, const json& data) {
  Standing standing{ratio_of(data.at("ratio")), {}};
  for (const json& shape : data.at("shapes")) {
    standing.shapes.push_back(
        {shape.at("shape"), ratio_of(shape.at("ratio")), shape.at("baseline_ns"), shape.at("candidate_ns")});
  }
  if (data.value("step", "").rfind(kWinner, 0) == 0) {
    state.winner = std::move(standing);
    return;
  }
  state.latest = standing;
  if (!state.first) {
    state.first = std::move(standing);
  } else if (!state.iterations.empty()) {
    state.iterations.back().speedup = standing.ratio.centre;
    state.iterations.back().measured = true;
  }
}

}  // namespace

const Iteration* LoopState::last_kept() const {
  for (auto i = iterations.rbegin(); i != iterations.rend(); ++i) {
    if (i->outcome && i->outcome->kept) return &*i;
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
  if (!iterations.empty()) return iterations.back().speedup;
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
  return iterations.empty() ? first.has_value() : iterations.back().measured;
}

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

std::string where_the_target_counts(const LoopState& state) {
  return state.target_shape.empty() ? "" : " at " + state.target_shape;
}

LoopState state_of(std::span<const Record> records) {
  LoopState state;
  for (const Record& record : records) {
    try {
      if (record.kind == "loop") take_loop(state, record.data);
      if (record.kind == "iteration") take_iteration(state, record);
      if (record.kind == "outcome") take_outcome(state, record.data);
      if (record.kind == "standing") take_standing(state, record.data);
      if (record.kind == "diagnosis") state.diagnosis = record.data;
      if (record.kind == "budget") state.warned.push_back(record.data.at("what"));
      if (record.kind == "loop_end") state.ended = record.data.at("reason");
    } catch (const json::exception& problem) {
      throw Error(ErrorCode::invalid,
                  "record " + std::to_string(record.number) + " (" + record.kind + "): " + problem.what());
    }
  }
  return state;
}

json to_json(const Choice& choice) { return {{"variant", choice.variant}, {"tunables", choice.tunables}}; }

Choice choice_of(const json& record) {
  Choice choice;
  choice.variant = record.value("variant", "");
  choice.tunables = record.value("tunables", std::map<std::string, std::string>());
  return choice;
}

}  // namespace dent

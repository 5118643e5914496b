// SPDX-License-Identifier: MIT
#include "workers/input_source.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace dent {
namespace {

constexpr int kSeedBits = 53;  // bits that a JSON number holds exactly

std::uint64_t seed_of(std::uint64_t random) { return random >> (64 - kSeedBits); }

}  // namespace

std::vector<Tensor> made_inputs(const Problem& problem) {
  std::vector<Tensor> made;
  for (const Tensor& input : problem.inputs) {
    if (input.made()) made.push_back(input);
  }
  return made;
}

void InputSource::make(const Problem& problem, std::uint64_t seed) {
  if (!worker_) worker_ = start_();
  const DeviceTurns::Turn alone = turn_();
  protocol::ProblemMessage message;
  const auto made = made_inputs(problem);
  const auto places = result_places(made);
  for (std::size_t i = 0; i < made.size(); ++i)
    message.outputs.push_back({made[i], made[i].dtype, places[i]});
  message.numbers = problem.numbers;
  message.numbers["seed"] = static_cast<double>(seed);
  message.flush = false;
  double wall_ns = 0;
  worker_->set_problem(message, seconds_);
  worker_->prepare({{}}, seconds_);
  worker_->go(seconds_, wall_ns);
  const protocol::Kept kept = worker_->keep(0, seconds_);
  worker_->check_code();
  if (kept.mismatches.empty()) return;
  throw Error(ErrorCode::invalid, "inputs_from: " + kept.mismatches.front(),
              "the function must return the inputs that have fill = \"python\", in the order of dent.toml");
}

void InputSource::put(const Problem& problem, std::size_t slot, bool constant) {
  const auto made = made_inputs(problem);
  const auto from = result_places(made);
  const auto to = pool_.places(problem);
  std::size_t m = 0;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Tensor& input = problem.inputs[i];
    if (!input.made()) continue;
    const std::byte* values = worker_->results() + from[m++];
    if (input.constant != constant) continue;
    std::memcpy(pool_.data() + to[i] + (constant ? 0 : slot * input.bytes()), values, input.bytes());
  }
}

// Checks the function: equal values for equal seeds, so that a call can be judged later, and different values
// for different seeds, so that a candidate can't know them in advance. Constant inputs may be equal for all
// seeds, such as norm weights that begin as 1.
void InputSource::check(const Problem& problem) {
  bool& checked = checked_[problem.shape];
  if (checked) return;
  const auto made = made_inputs(problem);
  const auto places = result_places(made);
  const auto values_for = [&](std::uint64_t seed, bool constants) {
    make(problem, seed);
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].constant && !constants) continue;
      const std::byte* from = worker_->results() + places[i];
      values.emplace_back(from, from + made[i].bytes());
    }
    return values;
  };
  if (values_for(1, true) != values_for(1, true)) {
    throw Error(ErrorCode::invalid, "inputs_from: the function returned different values for the same seed",
                "draw every random number from a generator seeded with the argument seed");
  }
  if (problem.has_sets() && values_for(1, false) == values_for(2, false)) {
    throw Error(
        ErrorCode::invalid,
        "inputs_from: the function returned equal values for two seeds, so a kernel could memorise them",
        "add an argument named seed, and draw the values from it");
  }
  checked = true;
}

void InputSource::renew(const Problem& problem, std::uint64_t seed) {
  pool_.fill(problem, seed);
  in_slot_.assign(pool_.slots(problem), std::nullopt);
  if (!problem.has_made()) return;
  check(problem);
  const bool constants = std::any_of(problem.inputs.begin(), problem.inputs.end(),
                                     [](const Tensor& input) { return input.made() && input.constant; });
  if (!constants) return;
  make(problem, seed_of(Random(seed).next()));
  put(problem, 0, true);
}

std::vector<CallInputs> InputSource::draw(const Problem& problem, std::size_t calls, Random& random) {
  std::vector<CallInputs> drawn;
  for (std::size_t call = 0; call < calls; ++call) {
    CallInputs inputs{InputPool::draw(problem, random)};
    if (problem.has_sets()) {
      inputs.set = seed_of(random.next());
      for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
        const Tensor& input = problem.inputs[i];
        if (input.made() && !input.constant) inputs.offsets[i] = call * input.elements();
      }
      bring_back(problem, inputs);
    }
    drawn.push_back(std::move(inputs));
  }
  return drawn;
}

void InputSource::bring_back(const Problem& problem, const CallInputs& inputs) {
  if (!problem.has_sets()) return;
  std::size_t slot = 0;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Tensor& input = problem.inputs[i];
    if (input.made() && !input.constant) slot = inputs.offsets[i] / input.elements();
  }
  if (in_slot_.at(slot) == inputs.set) return;
  make(problem, inputs.set);
  put(problem, slot, false);
  in_slot_[slot] = inputs.set;
}

}  // namespace dent

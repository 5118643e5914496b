// SPDX-License-Identifier: MIT
// What calls are given: windows of the pool of random numbers, and, where the manifest has inputs_from, sets
// that a Python function makes, one for each call, from a seed that is told to nobody else. The function runs
// in a process of its own that knows nothing of a candidate, and a candidate's process knows nothing of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workers/input_pool.h"
#include "workers/worker.h"

namespace dent {

// The inputs of one call.
struct CallInputs {
  protocol::Offsets offsets;  // into the pool, which was filled for them
  std::uint64_t set = 0;      // seed of those that a function makes
  bool operator==(const CallInputs&) const = default;
};

class InputSource {
 public:
  // `start`: the process that makes sets; asked for when the first one is needed. `turn`: taken while it
  // makes one, since it may draw its numbers on the GPU that others are timed on. `seconds`: for one of them.
  InputSource(const std::vector<Problem>& problems, std::function<std::unique_ptr<Worker>()> start,
              std::function<DeviceTurns::Turn()> turn, double seconds)
      : pool_(problems), start_(std::move(start)), turn_(std::move(turn)), seconds_(seconds) {}

  const InputPool& pool() const { return pool_; }
  void renew(const Problem& problem, std::uint64_t seed);  // for all calls that follow
  // Of calls that are prepared together; most_calls() at most. What was drawn before may be gone from the
  // pool.
  std::vector<CallInputs> draw(const Problem& problem, std::size_t calls, Random& random);
  // Into the pool, once more.
  void bring_back(const Problem& problem, const CallInputs& inputs);

 private:
  void make(const Problem& problem, std::uint64_t seed);  // into the results of the process
  void put(const Problem& problem, std::size_t slot, bool constant);
  void check(const Problem& problem);

  InputPool pool_;
  std::function<std::unique_ptr<Worker>()> start_;
  std::function<DeviceTurns::Turn()> turn_;
  double seconds_;
  std::unique_ptr<Worker> worker_;
  std::map<std::string, bool> checked_;                // shapes whose function was found to keep to the rules
  std::vector<std::optional<std::uint64_t>> in_slot_;  // the set that lies there
};

// The inputs that the function makes, as the outputs that it is asked for.
std::vector<Tensor> made_inputs(const Problem& problem);

}  // namespace dent

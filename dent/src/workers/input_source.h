// SPDX-License-Identifier: MIT
// Inputs of calls: windows of the pool of random numbers and, if the manifest has inputs_from, sets that a
// Python function makes, one for each call, from a secret seed. The function runs in its own process,
// separate from the candidate's.
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
  protocol::Offsets offsets;  // in the pool as filled when they were drawn
  std::uint64_t set = 0;      // seed of inputs that a function makes
  bool operator==(const CallInputs&) const = default;
};

class InputSource {
 public:
  // `start` starts the process that makes sets, on first use. `turn` is held while it makes one, since it may
  // use the GPU that others are timed on. `seconds` is the limit for one set.
  InputSource(const std::vector<Problem>& problems, std::function<std::unique_ptr<Worker>()> start,
              std::function<DeviceTurns::Turn()> turn, double seconds)
      : pool_(problems), start_(std::move(start)), turn_(std::move(turn)), seconds_(seconds) {}

  const InputPool& pool() const { return pool_; }
  void renew(const Problem& problem, std::uint64_t seed);  // refills the pool; earlier inputs are gone
  // Draws inputs for calls that are prepared together, at most most_calls(). Sets drawn earlier may be gone
  // from the pool.
  std::vector<CallInputs> draw(const Problem& problem, std::size_t calls, Random& random);
  // Puts the inputs of an earlier call into the pool again.
  void bring_back(const Problem& problem, const CallInputs& inputs);

 private:
  void make(const Problem& problem, std::uint64_t seed);  // into the results of that process
  void put(const Problem& problem, std::size_t slot, bool constant);
  void check(const Problem& problem);

  InputPool pool_;
  std::function<std::unique_ptr<Worker>()> start_;
  std::function<DeviceTurns::Turn()> turn_;
  double seconds_;
  std::unique_ptr<Worker> worker_;
  std::map<std::string, bool> checked_;                // shapes whose function has passed check()
  std::vector<std::optional<std::uint64_t>> in_slot_;  // the set in each slot
};

// The inputs that the function makes, described as the outputs of that function.
std::vector<Tensor> made_inputs(const Problem& problem);

}  // namespace dent

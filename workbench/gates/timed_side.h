// SPDX-License-Identifier: MIT
// One side of a comparison: a worker that is timed on fresh inputs, while everyone else is stopped, and whose clock is
// held against ours.
#pragma once

#include <string>
#include <vector>

#include "gates/input_pool.h"
#include "gates/oracle.h"
#include "measure/sampler.h"

namespace dent {

class TimedSide {
 public:
  TimedSide(Worker& worker, const Problem& problem, Workshop& workshop, std::uint64_t seed);

  // Stops `other` while this one runs: its threads must not spin or work meanwhile.
  void against(Worker& other) { other_ = &other; }

  Timing run(int calls);  // for the sampler
  std::size_t most_calls() const { return most_calls_; }

  // A long stretch, timed on both clocks. "" when they agree; else by how much they don't.
  std::string audit();

  // Outputs of calls that were timed, chosen by lot after they had run.
  struct KeptCall {
    protocol::Offsets offsets;
    Delivered outputs;
    protocol::Kept kept;
  };
  const std::vector<KeptCall>& kept_calls() const { return kept_; }
  void keep_one();  // of the last stretch

 private:
  protocol::Timed stretch(std::size_t calls, std::size_t lead, double& wall_ns);

  Worker& worker_;
  Worker* other_ = nullptr;
  const Problem& problem_;
  Workshop& workshop_;
  Random random_;
  std::size_t most_calls_;
  std::vector<protocol::Offsets> last_;
  double ns_per_call_ = 0;  // of the last stretch
  long stretches_ = 0;
  std::vector<KeptCall> kept_;
};

}  // namespace dent

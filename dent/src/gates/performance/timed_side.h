// SPDX-License-Identifier: MIT
// One side of a comparison: a worker that is timed on fresh inputs, while everyone else is stopped, and whose
// clock is held against ours.
#pragma once

#include <vector>

#include "gates/judging/oracle.h"
#include "gates/performance/clock_audit.h"
#include "gates/performance/gpu_clock.h"
#include "measure/sampler.h"
#include "workers/input_pool.h"

namespace dent {

class TimedSide {
 public:
  TimedSide(Worker& worker, const Problem& problem, WorkerFactory& workers, std::uint64_t seed);

  // Stops `other` while this one runs: its threads must not spin or work meanwhile.
  void against(Worker& other) { other_ = &other; }

  // On a GPU, before anything is sampled: what a few calls read by both of its clocks.
  ClockTrial try_clocks();
  void time_in_graph(bool in_graph) { in_graph_ = in_graph; }

  // For the sampler. Takes as many calls as asked for or twice as many, by lot: a kernel can't know when a
  // stretch ends, and the two clocks can be compared over stretches of different length.
  Timing run(int calls);
  // What a function's setup() took for the constant inputs of the last stretch; in none of the times. 0: it
  // has none.
  double setup_ns() const { return setup_ns_; }
  // What a time box is not for: to bring inputs that a function makes.
  double seconds_of_inputs() const { return seconds_of_inputs_; }
  int most_calls() const { return static_cast<int>(most_calls_ / 2); }

  // From all stretches so far, and more like them while that leaves it unclear; an accusation, from the
  // longest too.
  ClockAudit audit();

  // Outputs of calls that were timed, chosen by lot after they had run.
  struct KeptCall {
    CallInputs inputs;
    Delivered outputs;
    protocol::Kept kept;
  };
  const std::vector<KeptCall>& kept_calls() const { return kept_; }
  void keep_one();  // of the last stretch

 private:
  protocol::Timed stretch(std::size_t calls, double& wall_ns);
  void lead_in(std::size_t calls);
  bool next_is_long();
  ClockAudit audit_stretches(int calls, const ClockRules& rules);

  Worker& worker_;
  Worker* other_ = nullptr;
  const Problem& problem_;
  WorkerFactory& workers_;
  Random random_;
  std::size_t most_calls_;
  std::vector<std::size_t> rooms_;  // of its inputs: those with room are aimed; protocol::aim
  std::vector<CallInputs> last_;    // of the last stretch, as its calls saw them
  std::size_t watched_ = 0;         // the call of it whose outputs were copied when it returned
  double ns_per_call_ = 0;          // of the last stretch
  double setup_ns_ = 0;
  double seconds_of_inputs_ = 0;
  bool in_graph_ = false;    // by a GPU's second clock
  int asked_ = 1;            // calls in the last request
  bool long_first_ = false;  // of these two stretches
  std::vector<TwoClocks> clocks_;
  std::vector<KeptCall> kept_;
};

}  // namespace dent

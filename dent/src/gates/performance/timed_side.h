// SPDX-License-Identifier: MIT
// One side of a comparison: a worker that is timed on fresh inputs while all other workers are stopped, and
// whose clock is compared with ours.
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

  // Stops `other` while this side runs, so that its threads use no processor.
  void against(Worker& other) { other_ = &other; }

  // GPU only, before sampling: times a few calls by both GPU clocks.
  ClockTrial try_clocks();
  void time_in_graph(bool in_graph) { in_graph_ = in_graph; }

  // For the sampler. Runs `calls` calls or, at random, twice as many: so a kernel can't know when a batch
  // ends, and the two clocks can be compared over batches of different lengths.
  Timing run(int calls);
  // Time of a function's setup() for the constant inputs of the last batch, which is not part of call times.
  // 0: it has no setup().
  double setup_ns() const { return setup_ns_; }
  // Time for inputs that a function makes, which the time box does not include.
  double seconds_of_inputs() const { return seconds_of_inputs_; }
  int most_calls() const { return static_cast<int>(most_calls_ / 2); }

  // Audits all batches so far, and adds more while the verdict is unclear. Before accusing, audits the
  // longest batches separately.
  ClockAudit audit();

  // Inputs and outputs of a timed call, chosen at random after the batch had run.
  struct KeptCall {
    CallInputs inputs;
    Delivered outputs;
    protocol::Kept kept;
  };
  const std::vector<KeptCall>& kept_calls() const { return kept_; }
  void keep_one();  // keeps a call of the last batch

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
  std::vector<std::size_t> rooms_;  // per input: number of windows that protocol::aim chooses from
  std::vector<CallInputs> last_;    // inputs of the last batch's calls
  std::size_t watched_ = 0;         // the call of that batch whose outputs were copied when it returned
  double ns_per_call_ = 0;          // in the last batch
  double setup_ns_ = 0;
  double seconds_of_inputs_ = 0;
  bool in_graph_ = false;    // timed in a graph
  int asked_ = 1;            // calls in the last request
  bool long_first_ = false;  // which of two batches is the longer one
  std::vector<TwoClocks> clocks_;
  std::vector<KeptCall> kept_;
};

}  // namespace dent

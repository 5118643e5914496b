// SPDX-License-Identifier: MIT
// From a number in a plan to a task of the backward pass, and the adding up of dq where keys are split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/arena.h"
#include "cpu/backward_plan.h"
#include "cpu/origin.h"
#include "flashmoe/attention.h"

namespace flashmoe::cpu {

struct PlannedBackward {
  ForwardProblem problem;
  BackwardPlan plan;
  Origin origin;
  float* shares = nullptr;  // of dq, one for each task; none where keys are not split
};

// What each thread has for itself.
struct ThreadSpace {
  std::byte* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  float* dq_sums = nullptr;  // for tasks without a share
  int64_t sums = 0;          // floats of each, a multiple of a cache line
};

// Floats of one task's share of dq, with what aligns the next one.
inline int64_t share_floats(const BackwardPlan& plan) {
  return round_up(plan.dq_sums, kCacheLine / sizeof(float));
}

class BackwardTasks {
 public:
  BackwardTasks(const BackwardArgs& args, const ThreadSpace& space) : args_(args), space_(space) {}

  void run(const PlannedBackward& of, int64_t index, int slot) const;

  // Some rows of dq from the shares of all splits of their head, always in the same order.
  static int64_t combine_tasks(const BackwardPlan& plan);  // none where keys are not split
  void combine(const PlannedBackward& of, int64_t index) const;

 private:
  BackwardTask task_of(const PlannedBackward& of, int64_t head) const;
  template <class T>
  void combine_rows(const PlannedBackward& of, int64_t index) const;

  const BackwardArgs& args_;
  ThreadSpace space_;
};

}  // namespace flashmoe::cpu

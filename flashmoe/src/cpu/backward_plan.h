// SPDX-License-Identifier: MIT
// How a backward problem is cut into tasks: a pure function of the problem and the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cpu/backward_task.h"
#include "cpu/pair_turns.h"

namespace flashmoe::cpu {

// Tasks are splits of a K/V head's keys, with all query heads that share it. dk and dv need no other task;
// dq is summed over the splits, in their order, once all are done. Results depend on the plan alone.
struct BackwardPlan {
  const BackwardKernel* kernel;
  int threads;    // that work at once, at most
  int64_t heads;  // batch entries times K/V heads
  PairTurns turns;
  int64_t groups;  // of heads that do not wait for each other: as many, or fewer where they take turns
  int64_t rows;    // packed rows of a head: group times Sq
  int64_t keys_per_split;
  int64_t splits;   // tasks of a head
  int64_t dq_sums;  // floats of one task's share of dq: whole panels of rows x sum_stride
  double core_us;   // what one core would need, roughly

  std::size_t scratch_bytes;  // of each thread, without dq_sums
  // threads x scratch_bytes, and dq_sums for each thread; for each task where splits > 1.
  std::size_t workspace_bytes;

  int64_t tasks() const { return heads * splits; }
  int64_t sums() const { return splits == 1 ? threads : tasks(); }  // shares of dq that are kept at once
};

BackwardPlan make_plan(const ForwardProblem& problem, const BackwardKernel& kernel, int threads,
                       const PairTurns& turns = {});

// Where task number `task` works. Low numbers are the longest: under a causal mask, the first keys of every
// head.
struct BackwardPlace {
  int64_t head, split;
  int64_t kv_begin, kv_end;
};
BackwardPlace place_of(const BackwardPlan& plan, const ForwardProblem& problem, int64_t task);

// What one core needs for it, roughly: to tell long tasks from short ones.
double task_us(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardPlace& place);

std::string describe(const BackwardPlan& plan, const ForwardProblem& problem);

}  // namespace flashmoe::cpu

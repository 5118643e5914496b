// SPDX-License-Identifier: MIT
// How a problem is cut into tasks: a pure function of the problem and the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cpu/task.h"

namespace flashmoe::cpu {

// Results depend on the plan alone, never on which thread runs which task or when.
struct Plan {
  const Kernel* kernel;
  int threads;    // that work at once, at most
  int64_t heads;  // batch entries times K/V heads
  int64_t rows;   // packed rows of a head
  int64_t heads_per_task;
  int64_t rows_per_task;
  int64_t row_blocks;  // tasks along the rows of a head
  int64_t keys_per_split;
  int64_t splits;  // tasks along the keys
  double core_us;  // what one core would need, roughly

  std::size_t scratch_bytes;  // of each thread
  std::size_t partial_bytes;  // for the results of splits, before they are combined
  std::size_t workspace_bytes;

  int64_t tasks() const { return heads / heads_per_task * row_blocks * splits; }
};

Plan make_plan(const ForwardProblem& problem, const Kernel& kernel, int threads);

// Where task number `task` works. Low numbers are the longest: under a causal mask, the last rows of every
// head.
struct TaskPlace {
  int64_t head, row_block, split;  // head: the first of heads_per_task
  int64_t row_begin, row_end, kv_begin, kv_end;
};
TaskPlace place_of(const Plan& plan, const ForwardProblem& problem, int64_t task);

// What one core needs for it, roughly: to tell long tasks from short ones.
double task_us(const Plan& plan, const ForwardProblem& problem, const TaskPlace& place);

std::string describe(const Plan& plan, const ForwardProblem& problem);

}  // namespace flashmoe::cpu

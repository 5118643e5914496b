// SPDX-License-Identifier: MIT
// How a call over sequences of different lengths is cut into tasks. Each sequence is cut as a call of its own
// would be, with the same kernel, so that its results are those of that call, bit for bit, whatever else is
// in the batch. The tasks of all of them go longest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "problem/sequences.h"

namespace flashmoe::cpu {

struct SequencesPlan {
  int64_t computed = 0;      // sequences with rows and keys
  int64_t runs = 0;          // of tasks that take about equally long
  int64_t tasks = 0;         // of all of them
  int64_t clear_tasks = 0;   // behind those: rows that no sequence has, or that don't count
  int64_t combine_runs = 0;  // backward, once all those are done: the same of the tasks that add up dq
  int64_t combine_tasks = 0;
  int64_t row_runs = 0;  // what rows see, where that follows no rule
  int64_t first_key_runs = 0;
  int threads = 1;     // that work at once, at most
  double core_us = 0;  // what one core would need, roughly

  std::size_t scratch_bytes = 0;  // of each thread
  int64_t sums = 0;               // backward: floats that each thread has for dq
  std::size_t shared_bytes = 0;   // what tasks leave for each other: partial results, or shares of dq
  std::size_t list_bytes = 0;     // the plans of the sequences, and their tasks in order
  std::size_t workspace_bytes = 0;
};

// How many sequences each kernel has.
struct KernelUses {
  std::map<std::string, int64_t> sequences;
  void add(const char* kernel) { ++sequences[kernel]; }
};

std::string describe(const SequencesPlan& plan, const Sequences& sequences, const KernelUses& uses);

}  // namespace flashmoe::cpu

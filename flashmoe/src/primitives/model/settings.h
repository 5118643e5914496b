// SPDX-License-Identifier: MIT
// Settings of the model that a test may choose, and the exception for a kernel that breaks a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace flashmoe::model {

// When an asynchronous copy or store takes effect. Both choices are legal on a GPU, so a kernel must be
// correct under both.
enum class CopyTime {
  late,   // when it must: at the thread's wait (stores to another block: when no thread can go on without);
          // the destination holds NaN patterns until then
  early,  // at issue
};

struct Settings {
  // 0: warps and lanes run in order. Odd: a random warp each time. Even: some warps run far ahead of others.
  // With any seed but 0, blocks run in random order and sometimes only some lanes of a warp go on.
  uint64_t seed = 0;
  CopyTime copies = CopyTime::late;  // cp.async
  CopyTime stores = CopyTime::late;  // st.async
  CopyTime tma = CopyTime::late;     // TMA loads and stores
  CopyTime wgmma = CopyTime::late;   // when products read shared memory; late: results only after the wait
  bool turns_pass = false;  // counters may exceed the awaited value: set if sequences (wrongly) share one
};

Settings& settings();

// Thrown when the kernel did something that is wrong on a GPU. The text names the rule, the thread and the
// source line, and the settings that repeat it.
class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Allows kernels to touch this global memory. If no region was allowed, all memory is.
void allow_memory(const char* name, const void* data, std::size_t bytes, bool writable);
void forget_memory();

struct Statistics {
  uint64_t blocks = 0;
  uint64_t switches = 0;  // context switches from the scheduler to a thread
};
const Statistics& statistics();  // since the program began

}  // namespace flashmoe::model

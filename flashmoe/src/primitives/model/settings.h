// SPDX-License-Identifier: MIT
// What a test may choose about the model, and what it gets when a kernel breaks a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace flashmoe::model {

// When an asynchronous copy or store takes effect. Both are legal on a GPU; a kernel must be right under
// either.
enum class CopyTime {
  late,   // at the wait that guarantees it, and until then its destination holds NaN patterns
          // (a store to another block: when nobody can go on without it)
  early,  // at once
};

struct Settings {
  // 0: warps take turns, lanes in order. Odd: any warp, any time. Even: some warps far ahead of others. With
  // a seed, blocks run in any order and now and then only some lanes of a warp go on.
  uint64_t seed = 0;
  CopyTime copies = CopyTime::late;  // cp.async
  CopyTime stores = CopyTime::late;  // st.async
  CopyTime tma = CopyTime::late;     // TMA, both ways
  CopyTime wgmma = CopyTime::late;  // when products read shared memory; registers hold nothing until the wait
  bool turns_pass = false;  // a counter may be past what is waited for: of sequences that wrongly share one
};

Settings& settings();

// The kernel did something that is wrong on a GPU: what, which thread, which line, and the settings to see it
// again.
class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Global memory that kernels may touch. Without any region, everything is allowed.
void allow_memory(const char* name, const void* data, std::size_t bytes, bool writable);
void forget_memory();

struct Statistics {
  uint64_t blocks = 0;
  uint64_t switches = 0;  // from the scheduler to a thread and back
};
const Statistics& statistics();  // since the program began

}  // namespace flashmoe::model

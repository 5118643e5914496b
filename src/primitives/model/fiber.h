// SPDX-License-Identifier: MIT
// A stack of its own and a place to go on from: what a GPU thread is on the model. One host thread runs them
// all, one at a time, so nothing here needs a lock and a run is repeatable.
#pragma once

#include <cstddef>

namespace flashmoe::model {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next resume() start `main` on an empty stack. Whatever ran here before is forgotten.
  void prepare(void (*main)());

  // Scheduler: runs this fiber until it suspends.
  void resume();

  // Fiber: back to the scheduler; returns when resumed. `for_good` when it never will be.
  static void suspend(bool for_good = false);

  // Fiber: another one runs instead, as if the scheduler had resumed it next, at half the price.
  static void switch_to(Fiber& next);

  // It will run soon: what it goes on from had better be in the cache.
  void prefetch() const {
    for (int line = 0; line < 4; ++line)
      __builtin_prefetch(static_cast<const std::byte*>(context_) + 64 * line);
  }

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;

  // Stacks begin at different places of their pages: if they did not, what all lanes of a warp touch in turn
  // would compete for a few lines of the cache.
  static constexpr std::size_t kShift = 2240;
  static constexpr std::size_t kMostShift = 65536;

  std::byte* stack_;  // kStackBytes, with a page behind its end that can't be touched
  std::size_t shift_;
  void* context_ = nullptr;
  void* sanitizer_stack_ = nullptr;
  void (*main_)() = nullptr;

  friend struct FiberEntry;
};

}  // namespace flashmoe::model

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

  // Makes the next resume() start `main`. Whatever ran here before is forgotten: if it has not returned, its
  // frames are not unwound.
  void prepare(void (*main)());

  // Scheduler: runs this fiber until it suspends.
  void resume();

  // Fiber: back to the scheduler; returns when resumed.
  static void suspend();

  // Fiber: another one runs instead, as if the scheduler had resumed it next, at half the price.
  static void switch_to(Fiber& next);

  // It will run soon: what it goes on from had better be in the cache.
  void prefetch() const {
    for (int line = 0; line < 4; ++line) __builtin_prefetch(suspended_at_ - 64 * line);
  }

 private:
  struct Entry;

  static constexpr std::size_t kStackBytes = 256 * 1024;

  // Stacks begin at different places of their pages: if they did not, what all lanes of a warp touch in turn
  // would compete for a few lines of the cache.
  static constexpr std::size_t kShift = 2240;
  static constexpr std::size_t kMostShift = 65536;

  std::byte* stack_;  // kStackBytes, with a page before it that can't be touched
  std::size_t shift_;
  const std::byte* suspended_at_ = nullptr;  // in the stack
  void* sanitizer_stack_ = nullptr;
  void (*main_)() = nullptr;  // null while there is nothing to run

  // Where it goes on from: a boost::context::fiber, as bytes, so that kernels compile without Boost. Never
  // destroyed: that would unwind a suspended fiber, and one that broke a rule may be suspended in a function
  // that can't be unwound (see report() in machine.cpp).
  alignas(void*) std::byte context_[sizeof(void*)];
};

}  // namespace flashmoe::model

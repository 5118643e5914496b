// SPDX-License-Identifier: MIT
// A stack and a point of execution: each GPU thread is a fiber on the model. One host thread runs all of
// them, one at a time, so nothing here needs a lock and every run is repeatable.
#pragma once

#include <cstddef>

namespace flashmoe::model {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next resume() start `main`. If an earlier main has not returned, it is abandoned without
  // unwinding its frames.
  void prepare(void (*main)());

  // Called by the scheduler: runs this fiber until it suspends.
  void resume();

  // Called in a fiber: returns to the scheduler, and from this call when the fiber is resumed.
  static void suspend();

  // Called in a fiber: runs `next` as if the scheduler resumed it, at half the cost.
  static void switch_to(Fiber& next);

  // Loads the top of the suspended stack into the cache; called shortly before the fiber runs.
  void prefetch() const {
    for (int line = 0; line < 4; ++line) __builtin_prefetch(suspended_at_ - 64 * line);
  }

 private:
  struct Entry;

  static constexpr std::size_t kStackBytes = 256 * 1024;

  // Stacks begin at different offsets in their pages: with equal offsets, the lanes of a warp, which run the
  // same code in turn, would compete for a few cache lines.
  static constexpr std::size_t kShift = 2240;
  static constexpr std::size_t kMostShift = 65536;

  std::byte* stack_;  // kStackBytes, after an inaccessible guard page
  std::size_t shift_;
  const std::byte* suspended_at_ = nullptr;  // stack pointer while suspended
  void* sanitizer_stack_ = nullptr;
  void (*main_)() = nullptr;  // null: nothing to run

  // The suspended context: a boost::context::fiber, held as bytes so that kernels compile without Boost. It
  // is never destroyed, since that would unwind the fiber's stack, and a thread that broke a rule may be
  // suspended in a function that can't be unwound (report() in machine.cpp).
  alignas(void*) std::byte context_[sizeof(void*)];
};

}  // namespace flashmoe::model

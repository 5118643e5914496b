// SPDX-License-Identifier: MIT
#include "primitives/model/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace flashmoe::model {
namespace {

namespace context = boost::context::detail;

Fiber* running = nullptr;
Fiber* previous = nullptr;  // who ran before; null: the scheduler
void* scheduler = nullptr;  // where the host thread goes on when a fiber suspends

#if defined(__SANITIZE_ADDRESS__)
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_bytes = 0;
void leaving(void** keep, const void* to, std::size_t bytes) {
  __sanitizer_start_switch_fiber(keep, to, bytes);
}
void arrived_in_fiber(void* kept) {
  const bool from_scheduler = previous == nullptr;
  __sanitizer_finish_switch_fiber(kept, from_scheduler ? &scheduler_stack : nullptr,
                                  from_scheduler ? &scheduler_stack_bytes : nullptr);
}
void arrived_in_scheduler(void* kept) { __sanitizer_finish_switch_fiber(kept, nullptr, nullptr); }
void leaving_for_scheduler(void** keep) { leaving(keep, scheduler_stack, scheduler_stack_bytes); }
void forget_frames(void* stack, std::size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
void leaving(void**, const void*, std::size_t) {}
void arrived_in_fiber(void*) {}
void arrived_in_scheduler(void*) {}
void leaving_for_scheduler(void**) {}
void forget_frames(void*, std::size_t) {}
#endif

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

// What a jump needs of a fiber's inside.
struct FiberEntry {
  static void enter(context::transfer_t from) {
    arrived(from, nullptr);
    running->main_();
    Fiber::suspend(true);
  }
  // In a fiber, first thing after a jump to it: whoever ran before goes on from there.
  static void arrived(context::transfer_t from, void* sanitizer_stack) {
    arrived_in_fiber(sanitizer_stack);
    (previous != nullptr ? previous->context_ : scheduler) = from.fctx;
  }
};

Fiber::Fiber() {
  void* memory =
      mmap(nullptr, kStackBytes + page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page_bytes(), PROT_NONE);
  stack_ = static_cast<std::byte*>(memory) + page_bytes();
  static std::size_t made = 0;
  shift_ = made++ * kShift % kMostShift;
}

Fiber::~Fiber() {
  forget_frames(stack_, kStackBytes);
  munmap(stack_ - page_bytes(), kStackBytes + page_bytes());
}

void Fiber::prepare(void (*main)()) {
  forget_frames(stack_, kStackBytes);
  main_ = main;
  sanitizer_stack_ = nullptr;
  context_ = context::make_fcontext(stack_ + kStackBytes - shift_, kStackBytes - shift_, &FiberEntry::enter);
}

void Fiber::resume() {
  running = this;
  previous = nullptr;
  void* kept = nullptr;
  leaving(&kept, stack_, kStackBytes);
  const context::transfer_t back = context::jump_fcontext(context_, nullptr);
  arrived_in_scheduler(kept);
  previous->context_ = back.fctx;
}

void Fiber::suspend(bool for_good) {
  Fiber* self = previous = running;
  leaving_for_scheduler(for_good ? nullptr : &self->sanitizer_stack_);
  FiberEntry::arrived(context::jump_fcontext(scheduler, nullptr), self->sanitizer_stack_);
}

void Fiber::switch_to(Fiber& next) {
  Fiber* self = previous = running;
  running = &next;
  leaving(&self->sanitizer_stack_, next.stack_, kStackBytes);
  FiberEntry::arrived(context::jump_fcontext(next.context_, nullptr), self->sanitizer_stack_);
}

}  // namespace flashmoe::model

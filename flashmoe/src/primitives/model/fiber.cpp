// SPDX-License-Identifier: MIT
#include "primitives/model/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/fiber.hpp>
#include <memory>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace flashmoe::model {
namespace {

using Context = boost::context::fiber;

Fiber* running = nullptr;
Fiber* previous = nullptr;  // the fiber that ran before; null: the scheduler

// The scheduler's context while a fiber runs; bytes for the reason given at Fiber::context_.
alignas(Context) std::byte scheduler[sizeof(Context)];

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

// The parts of a fiber that a context switch needs.
struct Fiber::Entry {
  static_assert(sizeof(Context) == sizeof context_ && alignof(Context) == alignof(void*));

  static Context& context(std::byte* bytes) { return *std::launder(reinterpret_cast<Context*>(bytes)); }

  // Boost's stack allocator: memory that the fiber owns, so deallocating does nothing.
  struct Stack {
    std::byte* top;
    std::size_t bytes;

    boost::context::stack_context allocate() const {
      boost::context::stack_context stack;
      stack.sp = top;
      stack.size = bytes;
      return stack;
    }
    void deallocate(boost::context::stack_context&) const {}
  };

  // A fiber whose main has ended waits here for its next one: creating a fiber anew costs two more switches.
  [[noreturn]] static Context run(Context&& from) {
    arrived(std::move(from), nullptr);
    for (;;) {
      running->main_();
      running->main_ = nullptr;
      suspend();
    }
  }

  // First call after a switch into a fiber: stores the context of the one that ran before.
  static void arrived(Context&& from, void* sanitizer_stack) {
    arrived_in_fiber(sanitizer_stack);
    keep(std::move(from), previous != nullptr ? previous->context_ : scheduler);
  }

  // Constructed anew, not assigned: the old context was moved from, so there is nothing to destroy.
  static void keep(Context&& from, std::byte* to) { new (to) Context(std::move(from)); }
};

Fiber::Fiber() {
  new (context_) Context;
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
  const bool idle = Entry::context(context_) && main_ == nullptr;
  main_ = main;
  if (idle) return;
  forget_frames(stack_, kStackBytes);
  sanitizer_stack_ = nullptr;
  suspended_at_ = stack_ + kStackBytes - shift_;
  const Entry::Stack stack{stack_ + kStackBytes - shift_, kStackBytes - shift_};
  new (context_) Context(std::allocator_arg, stack, &Entry::run);
}

void Fiber::resume() {
  running = this;
  previous = nullptr;
  void* kept = nullptr;
  leaving(&kept, stack_, kStackBytes);
  Context back = std::move(Entry::context(context_)).resume();
  arrived_in_scheduler(kept);
  Entry::keep(std::move(back), previous->context_);
}

void Fiber::suspend() {
  Fiber* self = previous = running;
  self->suspended_at_ = static_cast<const std::byte*>(__builtin_frame_address(0));
  leaving_for_scheduler(&self->sanitizer_stack_);
  Entry::arrived(std::move(Entry::context(scheduler)).resume(), self->sanitizer_stack_);
}

void Fiber::switch_to(Fiber& next) {
  Fiber* self = previous = running;
  running = &next;
  self->suspended_at_ = static_cast<const std::byte*>(__builtin_frame_address(0));
  leaving(&self->sanitizer_stack_, next.stack_, kStackBytes);
  Entry::arrived(std::move(Entry::context(next.context_)).resume(), self->sanitizer_stack_);
}

}  // namespace flashmoe::model

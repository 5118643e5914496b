// SPDX-License-Identifier: MIT
// The scheduler: picks a warp, runs its lanes until they wait, and goes on until the block has ended or
// nobody can.
#include "primitives/model/machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "primitives/model/order.h"
#include "primitives/model/reports.h"
#include "primitives/model/settings.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#endif

namespace flashmoe::model {

Thread* current = nullptr;

namespace {

Statistics counts;

constexpr std::byte kGuard{0xA5};
constexpr std::byte kPoison{0xFF};  // a NaN in every floating-point type

// One launch. Blocks run one after the other on one set of fibers.
class Run {
 public:
  Run(const gpu::LaunchShape& shape, const std::function<void()>& body);
  void all_blocks();

  [[noreturn]] void fail(const std::string& text);
  const gpu::LaunchShape& shape() const { return shape_; }
  const std::function<void()>& body() const { return body_; }

 private:
  void one_block(unsigned x, unsigned y);
  void run_until_done();
  Warp* next_warp();
  uint32_t next_lanes(const Warp& warp);
  void check_guards() const;

  const gpu::LaunchShape& shape_;
  const std::function<void()>& body_;
  std::mt19937_64 random_;
  const bool varied_;  // a seeded schedule
  std::size_t turn_ = 0;
  std::size_t slices_ = 0;
  Block block_;
  std::unique_ptr<std::byte[]> memory_;
};

Run* run = nullptr;
std::string failure;  // set by report() on a fiber, thrown by the scheduler

// Fibers are kept from launch to launch: making them costs more than running a small kernel.
std::vector<std::unique_ptr<Thread>>& thread_pool() {
  static std::vector<std::unique_ptr<Thread>> pool;
  return pool;
}

void thread_main() {
  run->body()();
  if (!current->copies.empty()) {
    report(
        "a thread ends with " + std::to_string(current->copies.size()) + " cp.async that it never waited for",
        Where::current());
  }
  current->exited = true;
  current->warp->exited |= 1U << current->lane;
  current->warp->runnable &= ~(1U << current->lane);
  if (current->warp->collective.name != nullptr) {
    report(std::string("lane ") + std::to_string(current->lane) +
               " ends while other lanes of its warp wait in " + current->warp->collective.name,
           current->warp->collective.where);
  }
}

Run::Run(const gpu::LaunchShape& shape, const std::function<void()>& body)
    : shape_(shape), body_(body), random_(settings().seed), varied_(settings().seed != 0) {
  const auto smem = static_cast<std::size_t>(shape.smem_bytes);
  memory_ = std::make_unique<std::byte[]>(smem + 2 * kGuardBytes + 1024);
  void* aligned = memory_.get() + kGuardBytes;
  std::size_t space = smem + kGuardBytes + 1024;
  std::align(1024, smem + kGuardBytes, aligned, space);
  block_.smem = static_cast<std::byte*>(aligned);
  block_.smem_bytes = smem;
  const auto threads = static_cast<std::size_t>(shape.threads);
  while (thread_pool().size() < threads) thread_pool().push_back(std::make_unique<Thread>());
  block_.warps.resize((threads + 31) / 32);
  for (std::size_t i = 0; i < threads; ++i) block_.threads.push_back(thread_pool()[i].get());
}

void Run::fail(const std::string& text) {
  ASAN_UNPOISON_MEMORY_REGION(memory_.get(), block_.smem_bytes + 2 * kGuardBytes + 1024);
  throw Failure(text + "\n  kernel: " + shape_.kernel + ", block (" + std::to_string(block_.x) + ", " +
                std::to_string(block_.y) + ") of (" + std::to_string(shape_.blocks) + ", " +
                std::to_string(shape_.blocks_y) + ")\n  again with: " + describe(settings()));
}

void Run::all_blocks() {
  const uint64_t total = uint64_t{shape_.blocks} * shape_.blocks_y;
  std::vector<uint64_t> order(total);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (varied_) std::shuffle(order.begin(), order.end(), random_);
  for (uint64_t i : order)
    one_block(static_cast<unsigned>(i % shape_.blocks), static_cast<unsigned>(i / shape_.blocks));
}

void Run::one_block(unsigned x, unsigned y) {
  ++counts.blocks;
  block_.x = x;
  block_.y = y;
  block_.barrier = {};
  std::fill_n(block_.smem - kGuardBytes, kGuardBytes, kGuard);
  std::fill_n(block_.smem, block_.smem_bytes, kPoison);
  std::fill_n(block_.smem + block_.smem_bytes, kGuardBytes, kGuard);
  ASAN_POISON_MEMORY_REGION(block_.smem - kGuardBytes, kGuardBytes);
  ASAN_POISON_MEMORY_REGION(block_.smem + block_.smem_bytes, kGuardBytes);
  for (std::size_t w = 0; w < block_.warps.size(); ++w) {
    block_.warps[w] = {};
    block_.warps[w].index = static_cast<int>(w);
  }
  for (std::size_t i = 0; i < block_.threads.size(); ++i) {
    Thread& thread = *block_.threads[i];
    thread.block = &block_;
    thread.warp = &block_.warps[i / 32];
    thread.index = static_cast<int>(i);
    thread.lane = static_cast<int>(i % 32);
    thread.exited = false;
    thread.waits_for = nullptr;
    thread.last = Where::current();
    thread.copies.clear();
    thread.copy_groups = 0;
    thread.warp->lanes |= 1U << thread.lane;
    thread.fiber.prepare(&thread_main);
  }
  for (Warp& warp : block_.warps) warp.runnable = warp.lanes;
  order_begin(block_);
  run_until_done();
  ASAN_UNPOISON_MEMORY_REGION(block_.smem - kGuardBytes, kGuardBytes);
  ASAN_UNPOISON_MEMORY_REGION(block_.smem + block_.smem_bytes, kGuardBytes);
  check_guards();
}

void Run::run_until_done() {
  for (;;) {
    Warp* warp = next_warp();
    if (warp == nullptr) break;
    uint32_t lanes = next_lanes(*warp);
    while (lanes != 0) {
      const int lane = std::countr_zero(lanes);
      lanes &= lanes - 1;
      if ((warp->runnable >> lane & 1U) == 0) continue;  // it may have stopped since
      current = block_.threads[static_cast<std::size_t>(warp->index * 32 + lane)];
      ++counts.switches;
      current->fiber.resume();
      current = nullptr;
      if (!failure.empty()) fail(std::exchange(failure, {}));
    }
  }
  const bool ended = std::all_of(block_.warps.begin(), block_.warps.end(),
                                 [](const Warp& warp) { return warp.exited == warp.lanes; });
  if (!ended) fail(deadlock_table(block_));
}

// Null when no warp can run.
Warp* Run::next_warp() {
  const std::size_t count = block_.warps.size();
  Warp* best = nullptr;
  if (varied_ && settings().seed % 2 == 0) {
    if (slices_++ % 64 == 0) {
      for (Warp& warp : block_.warps) warp.priority = static_cast<int>(random_() % 1024);
    }
    for (Warp& warp : block_.warps) {
      if (warp.runnable != 0 && (best == nullptr || warp.priority > best->priority)) best = &warp;
    }
    return best;
  }
  const std::size_t first = varied_ ? random_() % count : turn_;
  for (std::size_t i = 0; i < count && best == nullptr; ++i) {
    Warp& warp = block_.warps[(first + i) % count];
    if (warp.runnable != 0) best = &warp;
  }
  if (best != nullptr) turn_ = (static_cast<std::size_t>(best->index) + 1) % count;
  return best;
}

uint32_t Run::next_lanes(const Warp& warp) {
  if (varied_ && random_() % 8 == 0) {
    const uint32_t some = warp.runnable & static_cast<uint32_t>(random_());
    if (some != 0) return some;
  }
  return warp.runnable;
}

void Run::check_guards() const {
  const auto intact = [](const std::byte* begin) {
    return std::find_if(begin, begin + kGuardBytes, [](std::byte b) { return b != kGuard; });
  };
  const std::byte* before = block_.smem - kGuardBytes;
  const std::byte* behind = block_.smem + block_.smem_bytes;
  if (const auto* hit = intact(before); hit != before + kGuardBytes) {
    run->fail("shared memory was written " + std::to_string(block_.smem - hit) + " bytes before its begin");
  }
  if (const auto* hit = intact(behind); hit != behind + kGuardBytes) {
    run->fail("shared memory was written " + std::to_string(hit - behind) +
              " bytes past its end (the launch asked for " + std::to_string(block_.smem_bytes) + ")");
  }
}

}  // namespace

Settings& settings() {
  static Settings chosen;
  return chosen;
}

const Statistics& statistics() { return counts; }

void wait(const char* what, const Where& where) {
  current->waits_for = what;
  current->where = where;
  current->warp->runnable &= ~(1U << current->lane);
  Fiber::suspend();
}

void wake(Thread& thread) {
  thread.waits_for = nullptr;
  thread.warp->runnable |= 1U << thread.lane;
}

void report(const std::string& what, const Where& where) {
  failure = what + "\n  at: " + describe(where) + ", thread " + std::to_string(current->index) + " (warp " +
            std::to_string(current->warp->index) + ", lane " + std::to_string(current->lane) + ")";
  Fiber::suspend(true);
  __builtin_unreachable();
}

void run_grid(const gpu::LaunchShape& shape, const std::function<void()>& body) {
  if (shape.threads < 1 || shape.threads > 1024) throw Failure("a block has 1 to 1,024 threads");
  if (shape.blocks < 1 || shape.blocks_y < 1 || shape.blocks_y > 65535)
    throw Failure("the grid is empty or too tall");
  if (shape.smem_bytes > 232448)
    throw Failure("no GPU gives a block more than 232,448 bytes of shared memory");
  if (shape.cluster != 1) throw Failure("the model does not run clusters yet");
  Run this_run(shape, body);
  run = &this_run;
  struct Reset {
    ~Reset() {
      run = nullptr;
      current = nullptr;
    }
  } reset;
  this_run.all_blocks();
}

}  // namespace flashmoe::model

// SPDX-License-Identifier: MIT
// The scheduler: picks a warp, runs its lanes until they wait, and repeats until all blocks of the cluster
// have ended or no thread can run.
#include "primitives/model/machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "primitives/model/guarded_memory.h"
#include "primitives/model/order.h"
#include "primitives/model/reports.h"
#include "primitives/model/settings.h"

namespace flashmoe::model {

Thread* current = nullptr;
Watched watched;

namespace {

Statistics counts;

// One launch. Clusters run one after the other and reuse one set of fibers.
class Run {
 public:
  Run(const gpu::LaunchShape& shape, const std::function<void()>& body);
  void all_blocks();

  [[noreturn]] void fail(const std::string& text);
  const gpu::LaunchShape& shape() const { return shape_; }
  const std::function<void()>& body() const { return body_; }

 private:
  void one_cluster(unsigned x, unsigned y, unsigned z);
  void prepare(Block& block);
  void run_until_done();
  void run_warp(Warp& warp);
  Warp* next_warp();
  uint32_t next_lanes(const Warp& warp);

  const gpu::LaunchShape& shape_;
  const std::function<void()>& body_;
  std::mt19937_64 random_;
  const bool varied_;  // whether a seed varies the schedule
  std::size_t turn_ = 0;
  std::size_t slices_ = 0;
  Cluster cluster_;
  std::vector<Warp*> warps_;           // of all blocks of the cluster
  const Block* at_ = nullptr;          // the block that ran last
  std::vector<GuardedMemory> memory_;  // of each block
};

Run* run = nullptr;

// The warp that runs now, and those of its lanes that have not yet run in this slice.
struct Slice {
  Warp* warp = nullptr;
  uint32_t lanes = 0;
} slice;

// The next lane's thread, or null when all have run. A lane may have stopped since the slice began, so
// `runnable` is read again.
Thread* next_in_slice() {
  const uint32_t lanes = slice.lanes & slice.warp->runnable;
  if (lanes == 0) return nullptr;
  const int lane = std::countr_zero(lanes);
  slice.lanes &= ~1U << lane;
  ++counts.switches;
  if (const uint32_t later = slice.lanes & lanes; later != 0)
    slice.warp->threads[std::countr_zero(later)]->fiber.prefetch();
  return slice.warp->threads[lane];
}

// Suspends the current thread.
void pause() {
  Thread* next = next_in_slice();
  if (next == nullptr) {
    Fiber::suspend();
  } else if (next != current) {
    current = next;
    Fiber::switch_to(next->fiber);
  }
}

std::string failure;  // set by report() on a fiber, thrown by the scheduler

// Fibers are kept between launches: creating them costs more than running a small kernel.
std::vector<std::unique_ptr<Thread>>& thread_pool() {
  static std::vector<std::unique_ptr<Thread>> pool;
  return pool;
}

// Registers that a launch gives each thread of a kernel, derived from its launch bounds.
int registers_at_start(const gpu::LaunchShape& shape) {
  return std::min(65536 / (shape.threads * shape.blocks_per_sm) / 8 * 8, 256);
}

// Thrown to leave a thread that broke a rule, so that its frames are unwound.
struct Stop {};

void run_kernel_body() {
  run->body()();
  if (!current->copies.empty()) {
    report(
        "a thread ends with " + std::to_string(current->copies.size()) + " cp.async that it never waited for",
        Where::current());
  }
  check_cluster_at_end(*current);
  check_tma_stores_at_end(*current);
  check_products_at_end(*current);
  current->exited = true;
  current->warp->exited |= 1U << current->lane;
  current->warp->runnable &= ~(1U << current->lane);
  if (current->warp->collective.name != nullptr) {
    report(std::string("lane ") + std::to_string(current->lane) +
               " ends while other lanes of its warp wait in " + current->warp->collective.name,
           current->warp->collective.where);
  }
  ++current->block->exited;
  if (current->block->ended()) check_mbarriers_at_end(*current->block);
}

void thread_main() {
  try {
    run_kernel_body();
  } catch (const Stop&) {
    // report() has stored the failure; the scheduler finds it and ends the run.
  }
}

Run::Run(const gpu::LaunchShape& shape, const std::function<void()>& body)
    : shape_(shape), body_(body), random_(settings().seed), varied_(settings().seed != 0) {
  const auto smem = static_cast<std::size_t>(shape.smem_bytes);
  const auto threads = static_cast<std::size_t>(shape.threads);
  const auto blocks = static_cast<std::size_t>(shape.cluster);
  while (thread_pool().size() < blocks * threads) thread_pool().push_back(std::make_unique<Thread>());
  cluster_.blocks.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    Block& block = cluster_.blocks[b];
    block.cluster = &cluster_;
    block.rank = static_cast<unsigned>(b);
    memory_.emplace_back(smem);
    block.smem = memory_.back().data();
    block.smem_bytes = smem;
    block.warps.resize((threads + 31) / 32);
    for (std::size_t i = 0; i < threads; ++i) block.threads.push_back(thread_pool()[b * threads + i].get());
    for (Warp& warp : block.warps) warps_.push_back(&warp);
  }
}

void Run::fail(const std::string& text) {
  const Block& block = at_ != nullptr ? *at_ : cluster_.blocks[0];
  const auto triple = [](unsigned x, unsigned y, unsigned z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  };
  throw Failure(text + "\n  kernel: " + shape_.kernel + ", block " + triple(block.x, block.y, block.z) +
                " of " + triple(shape_.blocks, shape_.blocks_y, shape_.blocks_z) +
                "\n  again with: " + describe(settings()));
}

void Run::all_blocks() {
  const auto cluster = static_cast<unsigned>(shape_.cluster);
  const uint64_t across = shape_.blocks / cluster;
  std::vector<uint64_t> order(across * shape_.blocks_y * shape_.blocks_z);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (varied_) std::shuffle(order.begin(), order.end(), random_);
  for (uint64_t i : order) {
    const uint64_t row = i / across;
    one_cluster(static_cast<unsigned>(i % across) * cluster, static_cast<unsigned>(row % shape_.blocks_y),
                static_cast<unsigned>(row / shape_.blocks_y));
  }
}

void Run::one_cluster(unsigned x, unsigned y, unsigned z) {
  cluster_.arrived = 0;
  cluster_.meetings = 0;
  cluster_.waiting.clear();
  cluster_.pending.clear();
  for (Block& block : cluster_.blocks) {
    block.x = x + block.rank;
    block.y = y;
    block.z = z;
    prepare(block);
  }
  order_begin(cluster_);
  run_until_done();
  for (const Block& block : cluster_.blocks) {
    at_ = &block;
    if (const std::string wrong = memory_[block.rank].check(); !wrong.empty()) fail(wrong);
  }
}

void Run::prepare(Block& block) {
  ++counts.blocks;
  block.exited = 0;
  block.mbarriers.clear();
  block.barrier = {};
  block.named_barriers = {};
  block.free_registers = 0;
  block.waiting_for_registers.clear();
  prepare_warpgroups(block);
  memory_[block.rank].prepare();
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    block.warps[w] = {};
    block.warps[w].block = &block;
    block.warps[w].threads = block.threads.data() + 32 * w;
    block.warps[w].index = static_cast<int>(w);
  }
  for (std::size_t i = 0; i < block.threads.size(); ++i) {
    Thread& thread = *block.threads[i];
    thread.block = &block;
    thread.warp = &block.warps[i / 32];
    thread.index = static_cast<int>(i);
    thread.lane = static_cast<int>(i % 32);
    thread.exited = false;
    thread.may_touch_global = !shape_.programmatic;
    thread.waits_for = nullptr;
    thread.last = Where::current();
    thread.events = 0;
    thread.copies.clear();
    thread.copy_groups = 0;
    thread.cluster_arrivals = 0;
    thread.cluster_waits = 0;
    thread.proxy_fences = 0;
    thread.registers = registers_at_start(shape_);
    thread.tma_stores.clear();
    thread.tma_group_open = false;
    thread.tma_stores_waited = 0;
    thread.products = 0;
    thread.product_groups.clear();
    thread.products_waited = 0;
    thread.products_fenced = false;
    thread.warp->lanes |= 1U << thread.lane;
    thread.fiber.prepare(&thread_main);
  }
  for (Warp& warp : block.warps) warp.runnable = warp.lanes;
}

void Run::run_until_done() {
  for (;;) {
    if (Warp* warp = next_warp(); warp != nullptr) {
      run_warp(*warp);
      continue;
    }
    if (cluster_.pending.empty()) break;
    const std::size_t chosen = varied_ ? random_() % cluster_.pending.size() : 0;
    const Pending perform = std::move(cluster_.pending[chosen]);
    cluster_.pending.erase(cluster_.pending.begin() + static_cast<std::ptrdiff_t>(chosen));
    if (tracing) trace_slice();
    if (const std::string wrong = perform(); !wrong.empty()) fail(wrong);
  }
  const bool ended = std::all_of(cluster_.blocks.begin(), cluster_.blocks.end(),
                                 [](const Block& block) { return block.ended(); });
  if (!ended) fail(deadlock_table(cluster_));
}

void Run::run_warp(Warp& warp) {
  slice = {&warp, next_lanes(warp)};
  at_ = warp.block;
  watched = {at_->smem - GuardedMemory::kGuardBytes, at_->smem_bytes + 2 * GuardedMemory::kGuardBytes};
  if (tracing) trace_slice();
  while (Thread* next = next_in_slice()) {
    current = next;
    current->fiber.resume();
    current = nullptr;
    if (!failure.empty()) fail(std::exchange(failure, {}));
  }
}

// The warp to run next; null when no warp can run.
Warp* Run::next_warp() {
  const std::size_t count = warps_.size();
  Warp* best = nullptr;
  if (varied_ && settings().seed % 2 == 0) {
    if (slices_++ % 64 == 0) {
      for (Warp* warp : warps_) warp->priority = static_cast<int>(random_() % 1024);
    }
    for (Warp* warp : warps_) {
      if (warp->runnable != 0 && (best == nullptr || warp->priority > best->priority)) best = warp;
    }
    return best;
  }
  const std::size_t first = varied_ ? random_() % count : turn_;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first + i) % count;
    if (warps_[at]->runnable == 0) continue;
    turn_ = (at + 1) % count;
    return warps_[at];
  }
  return nullptr;
}

uint32_t Run::next_lanes(const Warp& warp) {
  if (varied_ && random_() % 8 == 0) {
    const uint32_t some = warp.runnable & static_cast<uint32_t>(random_());
    if (some != 0) return some;
  }
  return warp.runnable;
}

}  // namespace

Settings& settings() {
  static Settings chosen;
  return chosen;
}

const Statistics& statistics() { return counts; }

void yield() { pause(); }

void run_async(CopyTime time, Pending perform, const Where& where) {
  if (time == CopyTime::late) {
    current->block->cluster->pending.push_back(std::move(perform));
  } else if (const std::string wrong = perform(); !wrong.empty()) {
    report(wrong, where);
  }
}

void wait(const char* what, const Where& where, int64_t on, int parity) {
  current->waits_for = what;
  current->waits_on = on;
  current->waits_parity = parity;
  current->where = where;
  if (tracing) trace_wait();
  current->warp->runnable &= ~(1U << current->lane);
  pause();
  current->waits_for = nullptr;
}

void wake(Thread& thread) {
  if (tracing) trace_wake(thread);
  thread.warp->runnable |= 1U << thread.lane;
}

void wake_lanes(Warp& warp, uint32_t lanes) {
  if (tracing) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      trace_wake(*warp.threads[std::countr_zero(rest)]);
  }
  warp.runnable |= lanes;
}

void report(const std::string& what, const Where& where) {
  failure = what + "\n  at: " + describe(where) + ", thread " + std::to_string(current->index) + " (warp " +
            std::to_string(current->warp->index) + ", lane " + std::to_string(current->lane) + ")";
  // Don't throw here: the hooks are called from code for which the compiler assumes that they can't throw.
  if (order_is_checked()) Fiber::suspend();
  throw Stop{};
}

void run_grid(const gpu::LaunchShape& shape, const std::function<void()>& body) {
  if (shape.threads < 1 || shape.threads > 1024) throw Failure("a block has 1 to 1,024 threads");
  if (shape.blocks < 1 || shape.blocks_y < 1 || shape.blocks_y > 65535 || shape.blocks_z < 1 ||
      shape.blocks_z > 65535)
    throw Failure("the grid is empty or too tall");
  if (shape.smem_bytes > 232448)
    throw Failure("no GPU gives a block more than 232,448 bytes of shared memory");
  if (shape.cluster < 1 || shape.cluster > 8) throw Failure("a cluster has 1 to 8 blocks");
  if (shape.blocks % static_cast<unsigned>(shape.cluster) != 0)
    throw Failure("the grid's width is not a multiple of the cluster's");
  if (tracing) trace_launch(shape.kernel);
  Run this_run(shape, body);
  run = &this_run;
  struct Reset {
    ~Reset() {
      run = nullptr;
      current = nullptr;
      watched = {};
    }
  } reset;
  this_run.all_blocks();
}

}  // namespace flashmoe::model

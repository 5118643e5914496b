// SPDX-License-Identifier: MIT
// A job is published by opening a gate. Workers join through it; when no task is left the caller shuts it and
// waits only for those inside, so that a worker which the system has not scheduled yet never delays a call.
#include "cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>

namespace flashmoe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Between back-to-back calls a worker is found spinning (0.3 us to start it); after that it sleeps (5 to 25
// us).
constexpr auto kWorkerSpin = std::chrono::microseconds(80);
// A caller waits for the tail of a task that way; longer means that the worker was descheduled.
constexpr auto kCallerSpin = std::chrono::microseconds(50);

void pause_briefly() {
#if defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most cores
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// True as soon as `done()` is; false when `limit` has passed.
template <class Done>
bool spin_until(Clock::duration limit, const Done& done) {
  const auto end = Clock::now() + limit;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (Clock::now() < end);
  return false;
}

// The gate: [job number : 32][open : 1][workers allowed : 15][workers joined : 16].
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr int64_t kMostWorkers = 0x7FFF;
uint64_t joined(uint64_t gate) { return gate & 0xFFFF; }
uint64_t allowed(uint64_t gate) { return (gate >> 16) & 0x7FFF; }

}  // namespace

int usable_cores() {
  static const int cores = [] {
    const long configured = sysconf(_SC_NPROCESSORS_CONF);
    const int most = static_cast<int>(std::clamp<long>(configured, 1024, 1 << 20));
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) {
      return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    }
    return std::max(1, CPU_COUNT_S(bytes, set.get()));
  }();
  return cores;
}

namespace {

// Never destroyed, so that a thread which outlives main() finds it; `left_behind` keeps a parent's pool
// reachable.
constinit std::atomic<ThreadPool*> process_pool{nullptr};
constinit std::atomic<ThreadPool*> left_behind{nullptr};

struct JoinAtExit {
  JoinAtExit() {
    // In the child of a fork() no worker exists, and a lock may be held by a thread that does not exist
    // either: the next call there makes a new pool.
    pthread_atfork(nullptr, nullptr, [] { left_behind = process_pool.exchange(nullptr); });
  }
  ~JoinAtExit() {
    if (ThreadPool* pool = process_pool.load()) pool->stop();
  }
};

}  // namespace

ThreadPool& ThreadPool::of_process() {
  ThreadPool* pool = process_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  static const JoinAtExit join_at_exit;
  auto fresh = std::make_unique<ThreadPool>(usable_cores());
  if (process_pool.compare_exchange_strong(pool, fresh.get(), std::memory_order_acq_rel))
    pool = fresh.release();
  return *pool;
}

ThreadPool::ThreadPool(int threads)
    : threads_(static_cast<int>(std::clamp<int64_t>(threads, 1, kMostWorkers))) {}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  const std::lock_guard hold(in_use_);
  stopping_ = true;
  signal_.fetch_add(1);
  signal_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::start_workers() {
  // Signals belong to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system has no more threads to give; those that there are do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A system may wake a sleeper onto the core of whoever woke it, and leave it waiting there for milliseconds
// while another core idles: short calls after a rest then ran on one thread (S = 512, two cores: 1103 us
// instead of 564).
void ThreadPool::keep_workers_off_this_core() {
  const int here = sched_getcpu();
  if (here < 0 || here == avoided_core_) return;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  CPU_CLR(static_cast<unsigned>(here), &cores);
  if (CPU_COUNT(&cores) == 0) return;
  for (std::thread& worker : workers_) pthread_setaffinity_np(worker.native_handle(), sizeof cores, &cores);
  avoided_core_ = here;
}

void ThreadPool::work() {
  int seen = signal_.load();
  // The job that started this worker may be open already.
  while (!stopping_.load()) {
    if (join_job()) continue;
    if (!spin_until(kWorkerSpin, [&] { return signal_.load(std::memory_order_acquire) != seen; })) {
      sleepers_.fetch_add(1);
      signal_.wait(seen);
      sleepers_.fetch_sub(1);
    }
    seen = signal_.load();
  }
}

bool ThreadPool::join_job() {
  uint64_t gate = gate_.load(std::memory_order_acquire);
  do {
    if ((gate & kOpen) == 0 || joined(gate) >= allowed(gate)) return false;
  } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel));
  take_tasks(static_cast<int>(joined(gate)) + 1);
  finished_.fetch_add(1, std::memory_order_acq_rel);
  finished_.notify_one();
  return true;
}

void ThreadPool::take_tasks(int slot) {
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= job_.tasks) return;
    job_.call(job_.context, task, slot);
  }
}

void ThreadPool::run_erased(const Job& job, int threads, bool wake) {
  threads = static_cast<int>(std::min<int64_t>({threads, threads_, job.tasks}));
  std::unique_lock lock(in_use_, std::defer_lock);
  if (threads <= 1 || !lock.try_lock()) {
    for (int64_t task = 0; task < job.tasks; ++task) job.call(job.context, task, 0);
    return;
  }
  if (wake && workers_.empty() && !stopping_.load()) start_workers();
  job_ = job;
  next_task_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const uint64_t number = (gate_.load(std::memory_order_relaxed) >> 32) + 1;
  gate_.store(number << 32 | kOpen | static_cast<uint64_t>(threads - 1) << 16, std::memory_order_release);
  signal_.fetch_add(1);
  // A wake-up costs the caller microseconds: none for workers that are awake, and will see the signal by
  // themselves.
  const int sleepers = sleepers_.load();
  const int missing = threads - 1 - (static_cast<int>(workers_.size()) - sleepers);
  if (wake && missing > 0 && sleepers > 0) {
    keep_workers_off_this_core();
    if (missing >= sleepers) {
      signal_.notify_all();
    } else {
      for (int i = 0; i < missing; ++i) signal_.notify_one();
    }
  }

  take_tasks(0);

  const int inside = static_cast<int>(joined(gate_.fetch_and(~kOpen, std::memory_order_acq_rel)));
  const auto all_done = [&] { return finished_.load(std::memory_order_acquire) == inside; };
  if (spin_until(kCallerSpin, all_done)) return;
  for (int done = finished_.load(); done != inside; done = finished_.load()) finished_.wait(done);
}

}  // namespace flashmoe::cpu

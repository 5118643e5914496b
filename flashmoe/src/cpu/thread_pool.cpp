// SPDX-License-Identifier: MIT
// Fork and join. A job begins with one store, the next epoch, which all workers watch. Each worker has a
// slot, and with it a first task of its own: nobody waits for a lock or a counter to begin, and a task comes
// back to the core that has its data from the call before. Whoever is done claims the slots that are still
// unclaimed, so that a worker which the system has not scheduled yet never delays a call; what is left over
// is handed out by a counter.
#include "cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>

#include "cpu/usable_cores.h"

namespace flashmoe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Between back-to-back calls a worker is found spinning, which starts it many times sooner than a wake-up
// from the sleep that follows.
constexpr auto kWorkerSpin = std::chrono::microseconds(80);
// A worker that is done helps those that have not begun, unless the next job comes at once: looking at every
// slot's cache line is what makes an empty job on many threads slow.
constexpr auto kHelpAfter = std::chrono::microseconds(5);
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

}  // namespace

// Epoch `number` has a job for the first `workers` workers: one word, so that the two are never mixed up.
struct ThreadPool::Epoch {
  static constexpr int kMaxWorkers = 0xFFFF;
  static constexpr uint64_t kStop = ~uint64_t{0} >> 16;  // the epoch that ends every worker

  uint64_t number;
  int workers;

  static Epoch unpack(uint64_t word) { return {word >> 16, static_cast<int>(word & kMaxWorkers)}; }
  uint64_t pack() const { return number << 16 | static_cast<uint64_t>(workers); }
};

// What one worker, the caller and thieves share about it, on a cache line that nobody else writes to.
struct alignas(64) ThreadPool::Slot {
  std::atomic<uint64_t> claimed{0};  // the last epoch for which somebody claimed this slot
  std::atomic<uint64_t> done{0};     // and has finished
  std::atomic<int> asleep{0};

  // True for one thread alone. A worker that read an epoch long ago finds its slot claimed for that one, or
  // for a later one.
  bool claim(uint64_t epoch) {
    uint64_t last = claimed.load(std::memory_order_relaxed);
    return last < epoch && claimed.compare_exchange_strong(last, epoch, std::memory_order_acq_rel);
  }
};

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
    : threads_(std::clamp(threads, 1, Epoch::kMaxWorkers)),
      slots_(std::make_unique<Slot[]>(static_cast<std::size_t>(threads_ - 1))) {}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  const std::lock_guard hold(in_use_);
  const int started = static_cast<int>(workers_.size());
  epoch_.store(Epoch{Epoch::kStop, started}.pack());
  wake_workers(started);
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  stopped_ = true;
}

void ThreadPool::start_workers() {
  // Signals belong to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (int worker = 0; worker < threads_ - 1; ++worker)
      workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error&) {
    // The system has no more threads to give; those that there are do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A system may wake a sleeper onto the core of whoever woke it, and leave it waiting there for milliseconds
// while another core idles: a short call after a rest would then run on one thread.
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

// A wake-up costs the caller microseconds: none for workers that are awake.
void ThreadPool::wake_workers(int count) {
  for (int worker = 0; worker < count; ++worker) {
    std::atomic<int>& asleep = slots_[worker].asleep;
    if (asleep.load() == 0) continue;
    keep_workers_off_this_core();
    asleep.store(0);
    asleep.notify_one();
  }
}

void ThreadPool::work(int worker) {
  Slot& own = slots_[worker];
  const int slot = worker + 1;  // the caller has slot 0
  Epoch last{};
  for (;;) {
    Epoch next{};
    const auto has_job = [&] {
      next = Epoch::unpack(epoch_.load());
      return next.number != last.number && worker < next.workers;
    };
    bool found = spin_until(kHelpAfter, has_job);
    if (!found) {
      run_unclaimed(last, slot);
      found = spin_until(kWorkerSpin, has_job);
    }
    if (!found) {
      own.asleep.store(1);
      // The caller stores the epoch first and then looks for sleepers: one of the two sees the other.
      if (!has_job()) own.asleep.wait(1);
      own.asleep.store(0);
      continue;
    }
    if (next.number == Epoch::kStop) return;
    last = next;
    if (!own.claim(next.number)) continue;
    run_own(next, slot);
    finish(own, next.number);
  }
}

// All that a thread does for a job of its own accord.
void ThreadPool::run_own(const Epoch& epoch, int slot) {
  job_.call(job_.context, slot, slot);
  if (job_.tasks == epoch.workers + 1) return;
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= job_.tasks) return;
    job_.call(job_.context, task, slot);
  }
}

// The first tasks of workers that have not come. Once the job is over there are none.
void ThreadPool::run_unclaimed(const Epoch& epoch, int slot) {
  for (int worker = 0; worker < epoch.workers; ++worker) {
    if (!slots_[worker].claim(epoch.number)) continue;
    job_.call(job_.context, worker + 1, slot);
    finish(slots_[worker], epoch.number);
  }
}

void ThreadPool::finish(Slot& slot, uint64_t epoch) {
  slot.done.store(epoch);
  if (caller_sleeps_.load() == 0) return;
  caller_sleeps_.store(0);
  caller_sleeps_.notify_one();
}

void ThreadPool::wait_until_finished(const Slot& slot, uint64_t epoch) {
  const auto finished = [&] { return slot.done.load() == epoch; };
  if (spin_until(kCallerSpin, finished)) return;
  for (;;) {
    caller_sleeps_.store(1);
    if (finished()) break;
    caller_sleeps_.wait(1);
  }
  caller_sleeps_.store(0);
}

void ThreadPool::run_erased(const Job& job, int threads, bool wake) {
  threads = static_cast<int>(std::min<int64_t>({threads, threads_, job.tasks}));
  std::unique_lock lock(in_use_, std::defer_lock);
  if (threads > 1 && lock.try_lock() && wake && workers_.empty() && !stopped_) start_workers();
  const int workers = lock ? std::min(threads - 1, static_cast<int>(workers_.size())) : 0;
  if (workers == 0) {
    for (int64_t task = 0; task < job.tasks; ++task) job.call(job.context, task, 0);
    return;
  }
  const Epoch epoch{.number = Epoch::unpack(epoch_.load()).number + 1, .workers = workers};
  job_ = job;
  next_task_.store(workers + 1, std::memory_order_relaxed);
  epoch_.store(epoch.pack());
  if (wake) wake_workers(workers);
  run_own(epoch, 0);
  run_unclaimed(epoch, 0);
  for (int worker = 0; worker < workers; ++worker) wait_until_finished(slots_[worker], epoch.number);
}

}  // namespace flashmoe::cpu

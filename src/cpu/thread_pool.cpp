// SPDX-License-Identifier: MIT
// A job invites the first workers, by one store that they all watch. Each has a seat, and with it a first
// task of its own: nobody waits for a lock or a counter to begin, and a task comes back to the core that has
// its data from the call before. Whoever is done takes the seats that are still free, so that a worker which
// the system has not scheduled yet never delays a call; what is left over is handed out by a counter.
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

// Between back-to-back calls a worker is found spinning (0.2 us to start it); after that it sleeps (5 to 25
// us).
constexpr auto kWorkerSpin = std::chrono::microseconds(80);
// A worker that is done helps those that have not begun, unless the next job comes at once: looking at all
// seats at once made an empty job on 16 threads take 4.5 us instead of 1.6.
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

// Job number `job` asks the first `workers` workers to come: one word, so that the two are never mixed up.
struct ThreadPool::Invitation {
  static constexpr int kMostWorkers = 0xFFFF;
  static constexpr uint64_t kLeave = ~uint64_t{0} >> 16;  // the job that ends every worker

  uint64_t job;
  int workers;

  static Invitation from(uint64_t word) { return {word >> 16, static_cast<int>(word & kMostWorkers)}; }
  uint64_t word() const { return job << 16 | static_cast<uint64_t>(workers); }
};

// What one worker, the caller and thieves share about it, on a cache line that nobody else writes to.
struct alignas(64) ThreadPool::Seat {
  std::atomic<uint64_t> taken{0};  // the last job for which somebody took this seat
  std::atomic<uint64_t> done{0};   // and has finished
  std::atomic<int> asleep{0};

  // True for one thread alone. A worker that read an invitation long ago finds its seat taken for that job,
  // or for a later one.
  bool take(uint64_t job) {
    uint64_t last = taken.load(std::memory_order_relaxed);
    return last < job && taken.compare_exchange_strong(last, job, std::memory_order_acq_rel);
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
    : threads_(std::clamp(threads, 1, Invitation::kMostWorkers)),
      seats_(std::make_unique<Seat[]>(static_cast<std::size_t>(threads_ - 1))) {}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  const std::lock_guard hold(in_use_);
  const int started = static_cast<int>(workers_.size());
  invitation_.store(Invitation{Invitation::kLeave, started}.word());
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
    for (int place = 0; place < threads_ - 1; ++place) workers_.emplace_back([this, place] { work(place); });
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

// A wake-up costs the caller microseconds: none for workers that are awake.
void ThreadPool::wake_workers(int count) {
  for (int place = 0; place < count; ++place) {
    std::atomic<int>& asleep = seats_[place].asleep;
    if (asleep.load() == 0) continue;
    keep_workers_off_this_core();
    asleep.store(0);
    asleep.notify_one();
  }
}

void ThreadPool::work(int place) {
  Seat& seat = seats_[place];
  const int slot = place + 1;
  Invitation last{};
  for (;;) {
    Invitation next{};
    const auto invited = [&] {
      next = Invitation::from(invitation_.load());
      return next.job != last.job && place < next.workers;
    };
    bool called = spin_until(kHelpAfter, invited);
    if (!called) {
      take_free_seats(last, slot);
      called = spin_until(kWorkerSpin, invited);
    }
    if (!called) {
      seat.asleep.store(1);
      // The caller invites first and then looks for sleepers: one of the two sees the other.
      if (!invited()) seat.asleep.wait(1);
      seat.asleep.store(0);
      continue;
    }
    if (next.job == Invitation::kLeave) return;
    last = next;
    if (!seat.take(next.job)) continue;
    serve(next, slot);
    finish(seat, next.job);
  }
}

// All that a thread does for a job of its own accord.
void ThreadPool::serve(const Invitation& to, int slot) {
  job_.call(job_.context, slot, slot);
  if (job_.tasks == to.workers + 1) return;
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= job_.tasks) return;
    job_.call(job_.context, task, slot);
  }
}

// The first tasks of workers that have not come. Once the job is over there are none.
void ThreadPool::take_free_seats(const Invitation& to, int slot) {
  for (int place = 0; place < to.workers; ++place) {
    if (!seats_[place].take(to.job)) continue;
    job_.call(job_.context, place + 1, slot);
    finish(seats_[place], to.job);
  }
}

void ThreadPool::finish(Seat& seat, uint64_t job) {
  seat.done.store(job);
  if (caller_sleeps_.load() == 0) return;
  caller_sleeps_.store(0);
  caller_sleeps_.notify_one();
}

void ThreadPool::wait_until_finished(const Seat& seat, uint64_t job) {
  const auto finished = [&] { return seat.done.load() == job; };
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
  const Invitation invitation{.job = Invitation::from(invitation_.load()).job + 1, .workers = workers};
  job_ = job;
  next_task_.store(workers + 1, std::memory_order_relaxed);
  invitation_.store(invitation.word());
  if (wake) wake_workers(workers);
  serve(invitation, 0);
  take_free_seats(invitation, 0);
  for (int place = 0; place < workers; ++place) wait_until_finished(seats_[place], invitation.job);
}

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// The threads of the CPU backend: one pool per process, as large as usable_cores() says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace flashmoe::cpu {

// Below this much work, waking a sleeping thread costs more than it brings.
inline constexpr double kWorthWakingUs = 20;

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller of run() is one of them
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The pool of this process: made at first use, left behind by fork() (a child makes its own), stopped at
  // exit.
  static ThreadPool& of_process();

  // Ends the workers; run() then uses the caller's thread alone.
  void stop();

  // Calls body(task, slot) for every task of [0, tasks), low numbers first, on at most `threads` threads of
  // which the caller is one, and returns when all are done. No two calls with the same slot of [0, threads)
  // run at once. Workers that sleep are left asleep unless `wake`. When another thread is using the pool, the
  // caller runs everything itself. Nothing is allocated once the workers run. `body` must not throw and must
  // not call run().
  template <class Body>
  void run(int64_t tasks, int threads, bool wake, const Body& body) {
    run_erased({.call = [](const void* context, int64_t task,
                           int slot) { (*static_cast<const Body*>(context))(task, slot); },
                .context = &body,
                .tasks = tasks},
               threads, wake);
  }

 private:
  struct Job {
    void (*call)(const void* context, int64_t task, int slot) = nullptr;
    const void* context = nullptr;
    int64_t tasks = 0;
  };
  struct Epoch;
  struct Slot;

  void run_erased(const Job& job, int threads, bool wake);
  void start_workers();
  void keep_workers_off_this_core();
  void wake_workers(int count);
  void work(int worker);
  void run_own(const Epoch& epoch, int slot);
  void run_unclaimed(const Epoch& epoch, int slot);
  void finish(Slot& slot, uint64_t epoch);
  void wait_until_finished(const Slot& slot, uint64_t epoch);

  const int threads_;
  std::mutex in_use_;                 // held by the thread that is inside run()
  std::vector<std::thread> workers_;  // started by the first run() that wants them
  std::unique_ptr<Slot[]> slots_;     // one for each worker that may ever be
  bool stopped_ = false;
  int avoided_core_ = -1;  // that the workers may not use

  Job job_;  // written while every slot is claimed and done, read by those who claimed one
  alignas(64) std::atomic<uint64_t> epoch_{0};  // what workers that are awake watch
  std::atomic<int> caller_sleeps_{0};
  alignas(64) std::atomic<int64_t> next_task_{0};  // of those that no slot has
};

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
#include "cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cpu/usable_cores.h"

namespace flashmoe::cpu::thread_pool_test {
namespace {

// How often each task ran; every slot counts how many calls are inside it at once.
struct Record {
  explicit Record(int64_t tasks, int threads) : runs(tasks), inside(threads), shared_slot(false) {}
  std::vector<std::atomic<int>> runs;
  std::vector<std::atomic<int>> inside;
  std::atomic<bool> shared_slot;

  auto body() {
    return [this](int64_t task, int slot) {
      if (inside.at(static_cast<std::size_t>(slot)).fetch_add(1) != 0) shared_slot = true;
      runs.at(static_cast<std::size_t>(task)).fetch_add(1);
      inside[static_cast<std::size_t>(slot)].fetch_sub(1);
    };
  }
  void expect_all_ran_once() const {
    for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i].load(), 1) << "task " << i;
    EXPECT_FALSE(shared_slot.load()) << "two threads used the same scratch";
  }
};

TEST(ThreadPool, RunsEveryTaskOnce) {
  ThreadPool pool(4);
  for (int64_t tasks : {0, 1, 2, 3, 4, 5, 100}) {
    for (int threads : {1, 2, 4, 9}) {
      for (bool wake : {true, false}) {
        Record record(tasks, 9);
        pool.run(tasks, threads, wake, record.body());
        record.expect_all_ran_once();
      }
    }
  }
}

TEST(ThreadPool, ManySmallJobsInARow) {
  ThreadPool pool(3);
  for (int i = 0; i < 2000; ++i) {
    Record record(3, 3);
    pool.run(3, 3, true, record.body());
    record.expect_all_ran_once();
  }
}

TEST(ThreadPool, WorkersThatSleepAreWoken) {
  ThreadPool pool(2);
  // Each of the two tasks waits for the other, so that one thread alone would never finish.
  for (int i = 0; i < 3; ++i) {
    std::atomic<int> arrived = 0;
    pool.run(2, 2, true, [&](int64_t, int) {
      arrived.fetch_add(1);
      arrived.notify_all();
      for (int seen = arrived.load(); seen < 2; seen = arrived.load()) arrived.wait(seen);
    });
    EXPECT_EQ(arrived.load(), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // long enough for the worker to sleep
  }
}

TEST(ThreadPool, TasksOfSleepersThatAreNotWokenAreDoneAllTheSame) {
  ThreadPool pool(4);
  pool.run(4, 4, true, [](int64_t, int) {});                   // starts the workers
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they sleep
  Record record(9, 4);
  pool.run(9, 4, false, record.body());
  record.expect_all_ran_once();
}

// Worker 0 is awake, worker 1 sleeps and is not woken, the caller is held up in its own task until somebody
// has done that of worker 1.
TEST(ThreadPool, WorkersThatAreDoneHelp) {
  ThreadPool pool(3);
  pool.run(3, 3, true, [](int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int helped = 0;
  // Until it happened: a busy system may leave worker 0 waiting, or put it to sleep.
  for (int attempt = 0; attempt < 200 && helped == 0; ++attempt) {
    pool.run(2, 2, true, [](int64_t, int) {});
    std::atomic<int> slot_of_last = -1;
    pool.run(3, 3, false, [&](int64_t task, int slot) {
      if (task == 2) slot_of_last = slot;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      while (task == 0 && slot_of_last < 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    });
    helped += slot_of_last == 1;
  }
  EXPECT_EQ(helped, 1);
}

TEST(ThreadPool, JobsOfChangingSizeInARow) {
  ThreadPool pool(5);
  for (int i = 0; i < 3000; ++i) {
    const int threads = 2 + i % 4;
    const int64_t tasks = threads + (i / 4) % 7;
    Record record(tasks, threads);
    pool.run(tasks, threads, i % 3 != 0, record.body());
    record.expect_all_ran_once();
    if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPool, CallersAtTheSameTimeDoNotDisturbEachOther) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Record record(7, 3);
        pool.run(7, 3, true, record.body());
        record.expect_all_ran_once();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, RunsOnTheCallerAfterStop) {
  ThreadPool pool(3);
  Record before(10, 3);
  pool.run(10, 3, true, before.body());
  before.expect_all_ran_once();
  pool.stop();
  Record after(10, 3);
  const auto caller = std::this_thread::get_id();
  bool all_here = true;
  pool.run(10, 3, true, [&, body = after.body()](int64_t task, int slot) {
    all_here = all_here && std::this_thread::get_id() == caller;
    body(task, slot);
  });
  after.expect_all_ran_once();
  EXPECT_TRUE(all_here);
}

TEST(ThreadPool, ThereIsOneForEachProcess) {
  EXPECT_EQ(&ThreadPool::of_process(), &ThreadPool::of_process());
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kForkIsSupported =
    false;  // ThreadSanitizer forbids threads in the child of a threaded process
#else
constexpr bool kForkIsSupported = true;
#endif

TEST(ThreadPool, WorksInTheChildOfAFork) {
  if (!kForkIsSupported) GTEST_SKIP() << "ThreadSanitizer does not support threads after fork()";
  Record parent(50, 64);
  ThreadPool::of_process().run(50, 2, true, parent.body());
  parent.expect_all_ran_once();
  const pid_t child = fork();
  ASSERT_GE(child, 0) << "fork failed";
  if (child == 0) {
    alarm(60);  // a child that hangs must not hang the test
    Record record(50, 64);
    ThreadPool::of_process().run(50, 2, true, record.body());
    int wrong = record.shared_slot.load() ? 1 : 0;
    for (const auto& runs : record.runs) wrong += runs.load() != 1;
    _exit(wrong == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A sleeper that is woken onto the core of a busy caller would wait for it there.
TEST(ThreadPool, WorkersThatWereAsleepDoNotRunOnTheCallersCore) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core only";
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  ThreadPool pool(2);
  pool.run(2, 2, true, [](int64_t, int) {});                   // starts the worker
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it sleeps
  std::atomic<int> allowed_here{-1};
  // Until the worker has had a task: the caller may be quicker.
  for (int i = 0; i < 1000 && allowed_here < 0; ++i) {
    pool.run(64, 2, true, [&](int64_t, int slot) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (slot == 0) return;
      cpu_set_t cores;
      if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        allowed_here = CPU_COUNT(&cores) < CPU_COUNT(&before) ? 0 : 1;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(allowed_here, 0);
}

}  // namespace
}  // namespace flashmoe::cpu::thread_pool_test

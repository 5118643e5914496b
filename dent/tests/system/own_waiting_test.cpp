// SPDX-License-Identifier: MIT
#include "system/own_waiting.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

namespace dent::own_waiting_test {
namespace {

// Uses processor time, so that other programs have no effect.
void work(double seconds) {
  timespec start{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec - start.tv_sec) +
               1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec) <
           seconds);
}

TEST(OwnWaiting, ThreadsOnOneProcessorWaitForEachOther) {
  if (!OwnWaiting().ns()) GTEST_SKIP() << "the system does not count it";
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &allowed)) CPU_SET(processor, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const OwnWaiting waiting;
  std::atomic<bool> stop = false;
  std::thread other([&stop] {
    while (!stop) {
    }
  });
  work(0.1);
  const std::optional<double> ns = waiting.ns();
  stop = true;
  other.join();
  sched_setaffinity(0, sizeof allowed, &allowed);
  ASSERT_TRUE(ns);
  EXPECT_GT(*ns, 0);
}

TEST(OwnWaiting, IsNotKnownOfThreadsThatHaveEnded) {
  if (!OwnWaiting().ns()) GTEST_SKIP() << "the system does not count it";
  const OwnWaiting waiting;
  const auto threads = [] {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  };
  const auto before = threads();
  std::thread([] { work(0.05); }).join();
  while (threads() > before) std::this_thread::yield();  // the system may list a joined thread for a moment
  EXPECT_FALSE(waiting.ns());
}

}  // namespace
}  // namespace dent::own_waiting_test

// SPDX-License-Identifier: MIT
// Thousands of random shapes. The GPU runs one at a time; all cores make the data and judge the results.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu/on_gpu.h"
#include "kernels/random_case.h"

namespace flashmoe::test::sweep_test {
namespace {

TEST(GpuSweep, RandomShapesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const char* wish = std::getenv("FLASHMOE_SWEEP");
  const int cases = wish != nullptr ? std::atoi(wish) : 2400;
  std::atomic<int> next = 0;
  std::mutex gpu_mutex;
  std::mutex report_mutex;
  std::vector<std::string> troubles;
  const auto work = [&] {
    for (int i = next++; i < cases; i = next++) {
      const RandomCase c = random_case(static_cast<uint64_t>(i) + 1000);
      std::string wrong;
      try {
        Problem problem(c.shape);
        {
          const std::lock_guard lock(gpu_mutex);
          GpuProblem gpu(problem);
          gpu.launch(c.choice);
          wrong = gpu.download();
        }
        if (wrong.empty()) wrong = problem.disagreement();
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (wrong.empty()) continue;
      const std::lock_guard lock(report_mutex);
      troubles.push_back(describe(c) + ": " + wrong);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < troubles.size() && i < 10; ++i) ADD_FAILURE() << troubles[i];
  EXPECT_EQ(troubles.size(), 0U) << "of " << cases;
  RecordProperty("cases", cases);
}

}  // namespace
}  // namespace flashmoe::test::sweep_test

// SPDX-License-Identifier: MIT
// Gradients on a GPU, element by element against the oracle.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "gpu/gradients_on_gpu.h"

namespace flashmoe::test::backward_test {
namespace {

// Small enough for compute-sanitizer.
TEST(GpuSmall, GradientsOnce) {
  SKIP_WITHOUT_GPU();
  for (const BackwardForm& form : backward_forms_here()) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (Mask mask : kMasks) {
        EXPECT_EQ(trouble_with_gradients({.batch = 2,
                                          .q_heads = 4,
                                          .kv_heads = 2,
                                          .q_rows = 150,
                                          .kv_rows = 200,
                                          .head_dim = form.head_dim == 0 ? 52 : form.head_dim,
                                          .dtype = dtype,
                                          .mask = mask},
                                         {form.choice, mask == Mask::causal, mask != Mask::none}),
                  "");
      }
    }
  }
}

// As few blocks as go through every barrier: racecheck and synccheck follow each access.
TEST(GpuRaces, Backward) {
  SKIP_WITHOUT_GPU();
  for (const BackwardForm& form : backward_forms_here()) {
    for (bool deterministic : {false, true}) {
      EXPECT_EQ(trouble_with_gradients({.q_rows = 140,
                                        .kv_rows = 260,
                                        .head_dim = form.head_dim == 0 ? 40 : form.head_dim,
                                        .dtype = DType::bf16,
                                        .mask = Mask::causal},
                                       {form.choice, deterministic}),
                "");
    }
  }
}

// A form, a shape that it takes, and how.
std::pair<Shape, How> draw(const std::vector<BackwardForm>& forms, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](auto... values) {
    const int64_t all[] = {values...};
    return all[random() % std::size(all)];
  };
  const BackwardForm& form = forms[seed % forms.size()];
  const bool naive = form.head_dim == 0;
  const int64_t kv_heads = pick(1, 2, 3);
  Shape shape{.batch = pick(1, 2),
              .q_heads = kv_heads * pick(1, 1, 2, 4),
              .kv_heads = kv_heads,
              .q_rows = pick(1, 31, 64, 65, 127, 128, 129, 200, 333, 512),
              .kv_rows = pick(1, 31, 64, 65, 127, 128, 129, 200, 333, 512),
              .head_dim = naive ? pick(1, 7, 33, 64, 100, 255)
                                : form.head_dim - 8 * pick(0, 0, 0, 1, 3, form.head_dim / 16 - 1),
              .dtype = random() % 2 == 0 ? DType::fp16 : DType::bf16,
              .mask = kMasks[random() % 3],
              .layout = random() % 2 == 0 ? Layout::bhsd : Layout::bshd,
              .spread = static_cast<float>(pick(1, 1, 3, 20)),
              .seed = seed};
  if (naive && random() % 2 == 0) shape.dtype = DType::fp32;
  if (naive && random() % 2 == 0) shape.layout = Layout::padded;
  return {shape, {form.choice, random() % 2 == 0, random() % 2 == 0}};
}

// The GPU runs one at a time; all cores make the data and judge the results.
TEST(GpuSweep, GradientsOfRandomShapesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const char* wish = std::getenv("FLASHMOE_SWEEP");
  const int cases = wish != nullptr ? std::atoi(wish) : 2000;
  const std::vector<BackwardForm> forms = backward_forms_here();
  std::atomic<int> next = 0;
  std::mutex gpu_mutex;
  std::mutex report_mutex;
  std::vector<std::string> troubles;
  const auto work = [&] {
    for (int i = next++; i < cases; i = next++) {
      const auto [shape, how] = draw(forms, static_cast<uint64_t>(i));
      std::string wrong;
      try {
        BackwardProblem problem(shape, how.with_dlse);
        {
          const std::lock_guard lock(gpu_mutex);
          GpuGradients gpu(problem, how.deterministic, how.choice);
          gpu.launch();
          gpu.launch();
          wrong = gpu.download();
        }
        if (wrong.empty()) wrong = problem.disagreement();
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (wrong.empty()) continue;
      const std::lock_guard lock(report_mutex);
      troubles.push_back(describe(shape) + " by " + describe(how.choice) +
                         (how.deterministic ? ", deterministic: " : ": ") + wrong);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < troubles.size() && i < 10; ++i) ADD_FAILURE() << troubles[i];
  EXPECT_EQ(troubles.size(), 0U) << "of " << cases;
}

TEST(GpuBackward, DeterministicMeansTheSameBits) {
  SKIP_WITHOUT_GPU();
  for (const BackwardForm& form : backward_forms_here()) {
    const Shape shape{.batch = 2,
                      .q_heads = 4,
                      .kv_heads = 4,
                      .q_rows = 500,
                      .kv_rows = 1100,
                      .head_dim = form.head_dim == 0 ? 52 : form.head_dim,
                      .dtype = DType::bf16};
    BackwardProblem problem(shape);
    GpuGradients gpu(problem, true, form.choice);
    std::vector<std::byte> first;
    for (int i = 0; i < 50; ++i) {
      gpu.launch();
      ASSERT_EQ(gpu.download(), "");
      if (i == 0) first = problem.gradient_bytes();
      ASSERT_EQ(problem.gradient_bytes(), first) << describe(form.choice) << ", call " << i;
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::backward_test

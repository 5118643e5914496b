// SPDX-License-Identifier: MIT
// Hangs and slips that come once in thousands of launches: hopper_forward, and gradients by every kernel,
// again and again, results compared bit by bit with the first, which the oracle has judged. FLASHMOE_SOAK
// says how many launches of either (`make gpu-soak`: 100,000).
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "gpu/soak_kernels.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::test::soak_test {
namespace {

struct SoakCase {
  Shape shape;
  int tuning;
};

SoakCase draw(std::mt19937_64& random) {
  namespace hopper = kernels::hopper_forward;
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  SoakCase c;
  c.tuning = static_cast<int>(between(0, hopper::kNumTunings - 1));
  const int64_t group = int64_t{1} << between(0, 3);
  c.shape = {.batch = between(1, 3),
             .q_heads = between(1, 6) * group,
             .q_rows = between(1, 400),
             .kv_rows = between(1, 900),
             .head_dim = hopper::kTunings[c.tuning].head_dim - 8 * between(0, 1),
             .dtype = between(0, 1) == 0 ? DType::fp16 : DType::bf16,
             .mask = between(0, 1) == 0 ? Mask::none : Mask::causal,
             .seed = random()};
  c.shape.kv_heads = c.shape.q_heads / group;
  // Many small tiles, more than a GPU has SMs, half of the time; else what the oracle can judge quickly.
  if (between(0, 1) == 0) {
    c.shape.batch = 20;
    c.shape.q_rows = between(1, 40);
    c.shape.kv_rows = between(1, 200);
  }
  while (c.shape.batch * c.shape.q_heads * c.shape.q_rows * c.shape.kv_rows > 100'000) {
    (c.shape.q_rows > c.shape.kv_rows ? c.shape.q_rows : c.shape.kv_rows) /= 2;
  }
  return c;
}

TEST(GpuSoak, LaunchesNeitherHangNorDiffer) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  const char* wish = std::getenv("FLASHMOE_SOAK");
  const int launches = wish != nullptr ? std::atoi(wish) : 10'000;
  constexpr int kPerShape = 500;
  std::mt19937_64 random(42);
  DeviceBuffer counter(sizeof(unsigned));
  auto* differences = static_cast<unsigned*>(counter.data());
  check_cuda(cudaMemset(differences, 0, sizeof(unsigned)), "cudaMemset");
  for (int done = 0; done < launches; done += kPerShape) {
    const SoakCase c = draw(random);
    const dispatch::ForwardChoice choice{.kernel = dispatch::ForwardKernel::hopper_forward,
                                         .tuning = c.tuning};
    Problem problem(c.shape);
    GpuProblem gpu(problem);
    gpu.launch(choice);
    ASSERT_EQ(gpu.download(), "") << describe(c.shape);
    ASSERT_EQ(problem.disagreement(), "") << describe(c.shape) << " tuning " << c.tuning;
    const int64_t rows = c.shape.batch * c.shape.q_heads * c.shape.q_rows;
    struct Words {
      unsigned* data;
      int64_t size;
    };
    const Words results[] = {{static_cast<unsigned*>(gpu.args.out.data), rows * c.shape.head_dim / 2},
                             {reinterpret_cast<unsigned*>(gpu.args.lse), rows}};
    const DeviceBuffer first_out(static_cast<std::size_t>(4 * results[0].size));
    const DeviceBuffer first_lse(static_cast<std::size_t>(4 * results[1].size));
    const DeviceBuffer* first[] = {&first_out, &first_lse};
    for (int i : {0, 1}) {
      check_cuda(cudaMemcpy(first[i]->data(), results[i].data, first[i]->bytes(), cudaMemcpyDefault),
                 "cudaMemcpy");
    }
    for (int i = 0; i < kPerShape; ++i) {
      gpu.launch(choice);
      for (int r : {0, 1}) {
        count_differences(results[r].data, static_cast<const unsigned*>(first[r]->data()), results[r].size,
                          differences, nullptr);
      }
    }
    unsigned wrong = 0;
    check_cuda(cudaMemcpy(&wrong, differences, sizeof(wrong), cudaMemcpyDefault), "cudaMemcpy");
    ASSERT_EQ(wrong, 0U) << "words differ between launches: " << describe(c.shape) << " tuning " << c.tuning;
  }
}

// Deterministic gradients, whose blocks wait for one another, two calls of three; else dk and dv alone are
// the same bits.
TEST(GpuSoak, GradientsNeitherHangNorDiffer) {
  SKIP_WITHOUT_GPU();
  const char* wish = std::getenv("FLASHMOE_SOAK");
  const int launches = wish != nullptr ? std::atoi(wish) : 10'000;
  constexpr int kPerShape = 500;
  std::mt19937_64 random(43);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  DeviceBuffer counter(sizeof(unsigned));
  auto* differences = static_cast<unsigned*>(counter.data());
  check_cuda(cudaMemset(differences, 0, sizeof(unsigned)), "cudaMemset");
  const std::vector<BackwardForm> forms = backward_forms_here();
  for (int done = 0; done < launches; done += kPerShape) {
    const std::size_t number = static_cast<std::size_t>(done / kPerShape);
    const BackwardForm& form = forms[number % forms.size()];
    const bool deterministic = number / forms.size() % 3 != 0;
    Shape shape{.batch = between(1, 3),
                .q_heads = 4,
                .kv_heads = int64_t{1} << between(0, 2),
                .q_rows = between(1, 300),
                .kv_rows = between(1, 700),
                .head_dim = form.head_dim == 0 ? 2 * between(1, 64) : form.head_dim - 8 * between(0, 1),
                .dtype = between(0, 1) == 0 ? DType::fp16 : DType::bf16,
                .mask = kMasks[between(0, 2)],
                .seed = random()};
    while (shape.batch * shape.q_heads * shape.q_rows * shape.kv_rows > 100'000) {
      (shape.q_rows > shape.kv_rows ? shape.q_rows : shape.kv_rows) /= 2;
    }
    BackwardProblem problem(shape);
    GpuGradients gpu(problem, deterministic, form.choice);
    gpu.launch();
    ASSERT_EQ(gpu.download(), "") << describe(shape) << " by " << describe(form.choice);
    ASSERT_EQ(problem.disagreement(), "") << describe(shape) << " by " << describe(form.choice);
    std::vector<const Tensor*> results{&gpu.args().dk, &gpu.args().dv};
    if (deterministic) results.push_back(&gpu.args().dq);
    std::vector<std::unique_ptr<DeviceBuffer>> first;
    for (const Tensor* result : results) {
      first.push_back(std::make_unique<DeviceBuffer>(extent_bytes(*result)));
      check_cuda(cudaMemcpy(first.back()->data(), result->data, first.back()->bytes(), cudaMemcpyDefault),
                 "cudaMemcpy");
    }
    for (int i = 0; i < kPerShape; ++i) {
      gpu.launch();
      for (std::size_t r = 0; r < results.size(); ++r) {
        count_differences(static_cast<unsigned*>(results[r]->data),
                          static_cast<const unsigned*>(first[r]->data()),
                          static_cast<long long>(first[r]->bytes() / sizeof(unsigned)), differences, nullptr);
      }
    }
    unsigned wrong = 0;
    check_cuda(cudaMemcpy(&wrong, differences, sizeof(wrong), cudaMemcpyDefault), "cudaMemcpy");
    ASSERT_EQ(wrong, 0U) << "words differ between launches: " << describe(shape) << " by "
                         << describe(form.choice);
  }
}

}  // namespace
}  // namespace flashmoe::test::soak_test

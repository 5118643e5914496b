// SPDX-License-Identifier: MIT
// Gradients on a GPU, element by element against the oracle.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "device/probe.h"
#include "dispatch/run_backward.h"
#include "gpu/on_gpu.h"
#include "support/backward_problem.h"

namespace flashmoe::test {
namespace {

#define SKIP_WITHOUT_HOPPER() \
  SKIP_WITHOUT_GPU();         \
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_backward needs compute capability 9.0"

// The mirror of a problem on the GPU: same strides, same gaps, guards around each tensor.
class GpuGradients {
 public:
  GpuGradients(BackwardProblem& host, bool deterministic) : host_(host) {
    const ForwardArgs& forward = host.forward.args;
    args_.q = mirror(forward.q);
    args_.k = mirror(forward.k);
    args_.v = mirror(forward.v);
    args_.out = mirror(forward.out);
    args_.dout = mirror(host.dout);
    args_.dq = mirror(host.dq);
    args_.dk = mirror(host.dk);
    args_.dv = mirror(host.dv);
    const auto rows = static_cast<std::size_t>(forward.q.sizes[0] * forward.q.sizes[1] * forward.q.sizes[2]);
    args_.lse = static_cast<const float*>(mirror(forward.lse, rows * sizeof(float)));
    if (host.dlse() != nullptr)
      args_.dlse = static_cast<const float*>(mirror(host.dlse(), rows * sizeof(float)));
    args_.mask = forward.mask;
    args_.deterministic = deterministic;
    plan_ = dispatch::plan_backward(host.forward.problem, dispatch::addressing_of(args_), device::probe(),
                                    deterministic);
    workspace_ = std::make_unique<DeviceBuffer>(plan_.workspace_bytes);
  }

  void launch() {
    dispatch::run_backward(plan_, host_.forward.problem, args_, {workspace_->data(), plan_.workspace_bytes});
  }

  // Waits, and copies gradients back; what else was written, or "".
  std::string download() {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (const auto& [from, to] :
         {std::pair{&args_.dq, &host_.dq}, {&args_.dk, &host_.dk}, {&args_.dv, &host_.dv}})
      check_cuda(cudaMemcpy(to->data, from->data, extent_bytes(*to), cudaMemcpyDefault), "cudaMemcpy");
    if (!workspace_->guards_are_intact()) return "memory around the workspace was written";
    for (const auto& buffer : buffers_) {
      if (!buffer->guards_are_intact()) return "memory around a tensor was written";
    }
    return "";
  }

 private:
  void* mirror(const void* data, std::size_t bytes) {
    buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
    check_cuda(cudaMemcpy(buffers_.back()->data(), data, bytes, cudaMemcpyDefault), "cudaMemcpy");
    return buffers_.back()->data();
  }
  Tensor mirror(const Tensor& t) {
    Tensor copy = t;
    copy.data = mirror(t.data, extent_bytes(t));
    return copy;
  }

  BackwardProblem& host_;
  BackwardArgs args_;
  dispatch::BackwardPlan plan_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::unique_ptr<DeviceBuffer> workspace_;
};

std::string trouble(const Shape& shape, bool deterministic = false, bool with_dlse = false) {
  BackwardProblem problem(shape, with_dlse);
  GpuGradients gpu(problem, deterministic);
  gpu.launch();
  gpu.launch();  // a second call finds the workspace as the first left it
  const std::string stray = gpu.download();
  const std::string wrong = stray.empty() ? problem.disagreement() : stray;
  return wrong.empty() ? "" : describe(shape) + (deterministic ? ", deterministic: " : ": ") + wrong;
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, GradientsOnce) {
  SKIP_WITHOUT_HOPPER();
  for (int64_t head_dim : {64, 128, 256}) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (Mask mask : kMasks) {
        EXPECT_EQ(trouble({.batch = 2,
                           .q_heads = 4,
                           .kv_heads = 2,
                           .q_rows = 150,
                           .kv_rows = 200,
                           .head_dim = head_dim,
                           .dtype = dtype,
                           .mask = mask},
                          mask == Mask::causal, mask != Mask::none),
                  "");
      }
    }
  }
}

TEST(GpuBackward, TakesRandomShapes) {
  SKIP_WITHOUT_HOPPER();
  std::mt19937_64 random(7);
  const auto pick = [&](auto... values) {
    const int64_t all[] = {values...};
    return all[random() % std::size(all)];
  };
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int64_t kv_heads = pick(1, 2, 3);
    const Shape shape{.batch = pick(1, 2),
                      .q_heads = kv_heads * pick(1, 1, 2, 4),
                      .kv_heads = kv_heads,
                      .q_rows = pick(1, 31, 64, 65, 127, 128, 129, 200, 333, 512),
                      .kv_rows = pick(1, 31, 64, 65, 127, 128, 129, 200, 333, 512),
                      .head_dim = pick(8, 40, 64, 72, 96, 128, 136, 200, 256),
                      .dtype = random() % 2 == 0 ? DType::fp16 : DType::bf16,
                      .mask = kMasks[random() % 3],
                      .layout = random() % 2 == 0 ? Layout::bhsd : Layout::bshd,
                      .spread = static_cast<float>(pick(1, 1, 3, 20)),
                      .seed = seed};
    ASSERT_EQ(trouble(shape, random() % 2 == 0, random() % 2 == 0), "");
  }
}

TEST(GpuBackward, DeterministicMeansTheSameBits) {
  SKIP_WITHOUT_HOPPER();
  for (int64_t head_dim : {64, 128, 256}) {
    const Shape shape{.batch = 2,
                      .q_heads = 8,
                      .kv_heads = 8,
                      .q_rows = 700,
                      .kv_rows = 1500,
                      .head_dim = head_dim,
                      .dtype = DType::bf16};
    BackwardProblem problem(shape);
    GpuGradients gpu(problem, true);
    std::vector<std::byte> first;
    for (int i = 0; i < 50; ++i) {
      gpu.launch();
      ASSERT_EQ(gpu.download(), "");
      if (i == 0) first = problem.gradient_bytes();
      ASSERT_EQ(problem.gradient_bytes(), first) << "call " << i;
    }
  }
}

}  // namespace
}  // namespace flashmoe::test

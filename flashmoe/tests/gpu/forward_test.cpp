// SPDX-License-Identifier: MIT
// Every forward kernel on a GPU: the shapes that break kernels, and what only hardware can show.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/probe.h"
#include "gpu/on_gpu.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/spec.h"
#include "support/deciding_key.h"

namespace flashmoe::test::forward_test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

constexpr ForwardChoice kNaive{.kernel = ForwardKernel::naive};
constexpr ForwardChoice kAmpere{.kernel = ForwardKernel::ampere_forward, .num_splits = 1};

constexpr ForwardChoice kSmall{.kernel = ForwardKernel::small_forward};
constexpr ForwardChoice kDecode{.kernel = ForwardKernel::decode_forward};

struct Stream {
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
};

// Small enough for compute-sanitizer.
TEST(GpuSmall, EveryKernelOnce) {
  SKIP_WITHOUT_GPU();
  for (int64_t head_dim : {32, 64, 96, 128, 192, 256}) {
    EXPECT_RUNS_ON_GPU({.q_rows = 70, .kv_rows = 100, .head_dim = head_dim, .mask = Mask::causal}, kNaive);
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (Layout layout : {Layout::bhsd, Layout::padded}) {
        const Shape shape{.batch = 2,
                          .q_heads = 4,
                          .kv_heads = 2,
                          .q_rows = 70,
                          .kv_rows = 200,
                          .head_dim = head_dim,
                          .dtype = dtype,
                          .mask = Mask::causal,
                          .layout = layout};
        EXPECT_RUNS_ON_GPU(shape, kNaive);
        EXPECT_RUNS_ON_GPU(shape, kAmpere);
        EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward, .num_splits = 3});
        if (head_dim <= 128 && layout != Layout::padded) {
          EXPECT_RUNS_ON_GPU(shape, kSmall);
        }
      }
    }
  }
}

// Small enough for compute-sanitizer, too.
TEST(GpuSmall, EveryConfigurationOfDecodeOnce) {
  SKIP_WITHOUT_GPU();
  for (int tuning = 0; tuning < kernels::decode::kNumTunings; ++tuning) {
    const kernels::decode::Tuning& t = kernels::decode::kTunings[tuning];
    if (t.cluster > device::probe().max_cluster || t.smem_bytes() > device::probe().smem_per_block) continue;
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (int splits : {1, 3}) {
        const Shape shape{.batch = 2,
                          .q_heads = 6,
                          .kv_heads = 2,
                          .q_rows = 2,
                          .kv_rows = t.cluster * t.warps * t.block_keys - 21,
                          .head_dim = t.head_dim,
                          .dtype = dtype,
                          .mask = Mask::causal};
        EXPECT_RUNS_ON_GPU(shape,
                           {.kernel = ForwardKernel::decode_forward, .num_splits = splits, .tuning = tuning});
      }
    }
  }
}

TEST(GpuSmall, EveryConfigurationOfHopperOnce) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    const ForwardChoice choice{.kernel = ForwardKernel::hopper_forward, .tuning = tuning};
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
        EXPECT_RUNS_ON_GPU({.batch = 2,
                            .q_heads = 4,
                            .kv_heads = 2,
                            .q_rows = 200,
                            .kv_rows = 3 * t.tile_kv + 5,
                            .head_dim = t.head_dim,
                            .dtype = dtype,
                            .mask = mask},
                           choice);
      }
      EXPECT_RUNS_ON_GPU({.q_heads = 8,
                          .kv_heads = 1,
                          .q_rows = 30,
                          .kv_rows = 400,
                          .head_dim = t.head_dim - 8,
                          .dtype = dtype,
                          .mask = Mask::causal,
                          .layout = Layout::bshd},
                         choice);
    }
  }
}

// As flashmoe/tests/kernels/large_scores_test.cpp: scores from 1e4 to 1e37, in one key and in all.
void expect_large_scores_are_right(const Shape& shape, const ForwardChoice& choice) {
  for (float size : {1e4F, 1e6F, 1e9F, 1e12F, 1e36F}) {
    if (shape.dtype == DType::fp16 && size > 6e4F) continue;
    const auto run = [&](Problem& problem) {
      GpuProblem gpu(problem);
      gpu.launch(choice);
      return gpu.download();
    };
    for (int64_t key : {int64_t{0}, shape.kv_rows / 2, shape.kv_rows - 1}) {
      Problem problem(shape);
      set_deciding_key(problem, key, size);
      ASSERT_EQ(run(problem), "");
      EXPECT_EQ(trouble_with_deciding_key(problem, key), "")
          << describe(shape) << " key " << key << " of " << size;
    }
    Problem equal(shape);
    set_equal_keys(equal, size);
    ASSERT_EQ(run(equal), "");
    EXPECT_EQ(trouble_with_equal_keys(equal), "") << describe(shape) << " all keys " << size;
  }
}

TEST(GpuForward, LargeScoresAreRightInEveryKernel) {
  SKIP_WITHOUT_GPU();
  for (DType dtype : kDTypes)
    expect_large_scores_are_right({.q_rows = 70, .kv_rows = 70, .head_dim = 64, .dtype = dtype}, {});
  for (DType dtype : {DType::fp16, DType::bf16}) {
    const Shape shape{.q_rows = 70, .kv_rows = 70, .head_dim = 64, .dtype = dtype};
    expect_large_scores_are_right(shape, kNaive);
    expect_large_scores_are_right(shape, kSmall);
    for (int64_t head_dim : {32, 64, 96, 128, 192, 256}) {
      const Shape longer{.q_rows = 70, .kv_rows = 330, .head_dim = head_dim, .dtype = dtype};
      expect_large_scores_are_right(longer, kAmpere);
      expect_large_scores_are_right(longer, {.kernel = ForwardKernel::ampere_forward, .num_splits = 3});
    }
    const Shape decode{.q_heads = 4, .q_rows = 2, .kv_rows = 2000, .head_dim = 128, .dtype = dtype};
    expect_large_scores_are_right(decode, kDecode);
    expect_large_scores_are_right(decode, {.kernel = ForwardKernel::decode_forward, .num_splits = 3});
  }
  if (device::probe().arch != 90) return;
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    expect_large_scores_are_right(
        {.q_rows = 200, .kv_rows = 3 * t.tile_kv + 5, .head_dim = t.head_dim, .dtype = DType::bf16},
        {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
  }
}

// A sum of so many equal terms, one after the other, is rounded the same way over and over.
TEST(GpuForward, LongSumsStayExactInFp32) {
  SKIP_WITHOUT_GPU();
  for (int64_t head_dim : {16, 128, 256}) {
    const Shape shape{.q_rows = 3, .kv_rows = 100'000, .head_dim = head_dim, .dtype = DType::fp32};
    Problem problem(shape);
    for (int64_t s = 0; s < shape.kv_rows; ++s) problem.set_row(problem.args.v, 0, 0, s, 0.1F);
    GpuProblem gpu(problem);
    gpu.launch(kNaive);
    ASSERT_EQ(gpu.download(), "");
    for (int64_t s = 0; s < shape.q_rows; ++s)
      for (int64_t d = 0; d < head_dim; ++d)
        ASSERT_NEAR(problem.out(0, 0, s, d), 0.1F, 3e-6F * 0.1F) << describe(shape);
  }
}

// More tiles than the GPU has SMs, of one block of keys and of several.
TEST(GpuForward, HopperGoesFromTileToTile) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    for (int64_t keys : {t.tile_kv, 2 * t.tile_kv + 9}) {
      EXPECT_RUNS_ON_GPU({.q_heads = 70,
                          .kv_heads = 35,
                          .q_rows = t.tile_q() + 2,
                          .kv_rows = keys,
                          .head_dim = t.head_dim,
                          .dtype = DType::bf16,
                          .mask = Mask::causal},
                         {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
    }
  }
}

TEST(GpuForward, DecodeAtEveryLength) {
  SKIP_WITHOUT_GPU();
  for (int64_t head_dim : {40, 64, 128}) {
    for (int64_t keys : {1, 15, 16, 17, 500, 1023, 1024, 1025, 5000, 8192, 20000}) {
      for (int64_t batch : {1, 5}) {
        EXPECT_RUNS_ON_GPU({.batch = batch,
                            .q_heads = 8,
                            .kv_heads = 2,
                            .q_rows = 2,
                            .kv_rows = keys,
                            .head_dim = head_dim,
                            .dtype = DType::bf16,
                            .mask = Mask::causal},
                           kDecode);
      }
    }
  }
}

TEST(GpuForward, LongSequences) {
  SKIP_WITHOUT_GPU();
  for (int64_t head_dim : {64, 128}) {
    const Shape shape{.q_heads = 2,
                      .kv_heads = 1,
                      .q_rows = 64,
                      .kv_rows = 20000,
                      .head_dim = head_dim,
                      .dtype = DType::bf16,
                      .mask = Mask::causal};
    EXPECT_RUNS_ON_GPU(shape);
    EXPECT_RUNS_ON_GPU(shape, kAmpere);
  }
  EXPECT_RUNS_ON_GPU({.q_rows = 3000, .kv_rows = 3000, .dtype = DType::fp16, .mask = Mask::causal}, kAmpere);
}

TEST(GpuForward, HugeLogits) {
  SKIP_WITHOUT_GPU();
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (float spread : {40.0F, 100.0F}) {
      EXPECT_RUNS_ON_GPU(
          {.q_rows = 150, .kv_rows = 300, .dtype = dtype, .mask = Mask::causal, .spread = spread});
    }
  }
}

TEST(GpuForward, RowsThatSeeNothingAreZero) {
  SKIP_WITHOUT_GPU();
  for (DType dtype : {DType::fp32, DType::fp16}) {
    EXPECT_RUNS_ON_GPU({.q_rows = 300, .kv_rows = 40, .dtype = dtype, .mask = Mask::causal});
    EXPECT_RUNS_ON_GPU({.q_heads = 8, .q_rows = 30, .kv_rows = 4, .dtype = dtype, .mask = Mask::causal});
  }
  EXPECT_RUNS_ON_GPU({.q_rows = 300, .kv_rows = 40, .dtype = DType::bf16, .mask = Mask::causal},
                     {.kernel = ForwardKernel::ampere_forward, .num_splits = 5});
}

TEST(GpuForward, RepeatsAreBitExact) {
  SKIP_WITHOUT_GPU();
  const ForwardChoice split{.kernel = ForwardKernel::ampere_forward, .num_splits = 4};
  for (const ForwardChoice& choice : {kNaive, kAmpere, split, kSmall, kDecode}) {
    const Shape shape{.batch = 2,
                      .q_heads = 16,
                      .kv_heads = 4,
                      .q_rows = choice.kernel == ForwardKernel::decode_forward ? 2 : 513,
                      .kv_rows = choice.kernel == ForwardKernel::small_forward ? 500 : 700,
                      .dtype = DType::bf16,
                      .mask = Mask::causal};
    Problem problem(shape);
    GpuProblem gpu(problem);
    gpu.launch(choice);
    ASSERT_EQ(gpu.download(), "");
    const auto first = problem.output_bytes();
    for (int i = 0; i < 15; ++i) {
      gpu.poison_outputs();
      gpu.launch(choice);
      ASSERT_EQ(gpu.download(), "");
      ASSERT_EQ(std::memcmp(problem.output_bytes().data(), first.data(), first.size()), 0) << "run " << i;
    }
  }
}

// Each call reads what the one before it writes: one that started and did not wait would read NaN.
TEST(GpuForward, ProgrammaticLaunchesInARowSeeEachOthersResults) {
  SKIP_WITHOUT_GPU();
  const std::pair<Shape, ForwardKernel> cases[] = {
      {{.q_heads = 8, .kv_heads = 8, .q_rows = 128, .kv_rows = 128, .dtype = DType::fp16},
       ForwardKernel::small_forward},
      {{.q_heads = 8, .kv_heads = 2, .q_rows = 1, .kv_rows = 1024, .head_dim = 128, .dtype = DType::bf16},
       ForwardKernel::decode_forward}};
  for (const auto& [shape, kernel] : cases) {
    Problem problems[] = {Problem(shape), Problem(shape), Problem(shape)};
    GpuProblem calls[] = {GpuProblem(problems[0]), GpuProblem(problems[1]), GpuProblem(problems[2])};
    calls[1].args.q = calls[0].args.out;
    calls[2].args.q = calls[1].args.out;
    const auto run = [&](const ForwardChoice& choice) {
      for (GpuProblem& call : calls) call.poison_outputs();
      for (GpuProblem& call : calls) call.launch(choice);
      EXPECT_EQ(calls[2].download(), "");
      return problems[2].output_bytes();
    };
    const auto expected = run({.kernel = kernel});
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(run({.kernel = kernel, .programmatic = true}), expected) << "run " << i;
    }
  }
}

TEST(GpuForward, ApiAgreesAndExplains) {
  SKIP_WITHOUT_GPU();
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const Shape shape{
        .q_heads = 8, .kv_heads = 2, .q_rows = 1, .kv_rows = 3000, .head_dim = 128, .dtype = dtype};
    Problem problem(shape);
    GpuProblem gpu(problem);
    gpu.launch_by_api();
    EXPECT_EQ(gpu.download(), "");
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
    EXPECT_NE(explain_forward(gpu.args).find("cuda:"), std::string::npos);
  }
}

TEST(GpuForward, TooSmallAWorkspaceIsRefusedBeforeAnythingRuns) {
  SKIP_WITHOUT_GPU();
  const Shape shape{
      .q_heads = 8, .kv_heads = 2, .q_rows = 3, .kv_rows = 30000, .head_dim = 128, .dtype = DType::bf16};
  Problem problem(shape);
  GpuProblem gpu(problem);
  ASSERT_GT(forward_workspace_bytes(gpu.args), 0U);
  EXPECT_THROW(attention_forward(gpu.args, {}), Error);
}

TEST(GpuForward, GraphsCaptureAndReplay) {
  SKIP_WITHOUT_GPU();
  const Shape shape{.q_heads = 8,
                    .kv_heads = 2,
                    .q_rows = 2,
                    .kv_rows = 5000,
                    .head_dim = 128,
                    .dtype = DType::fp16,
                    .mask = Mask::causal};
  Problem problem(shape);
  GpuProblem gpu(problem);
  gpu.launch_by_api();  // allocates the workspace outside of the capture
  ASSERT_EQ(gpu.download(), "");
  Stream s;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  gpu.launch_by_api(s.stream);
  check_cuda(cudaStreamEndCapture(s.stream, &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int replay = 0; replay < 3; ++replay) {
    problem.set(problem.args.v, 0, 0, replay, 0, 100.0F);  // new data, same addresses
    gpu.upload_inputs();
    gpu.poison_outputs();
    check_cuda(cudaGraphLaunch(executable, s.stream), "cudaGraphLaunch");
    EXPECT_EQ(gpu.download(), "");
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST(GpuForward, TwoStreamsAtOnce) {
  SKIP_WITHOUT_GPU();
  const Shape one{
      .q_heads = 4, .kv_heads = 4, .q_rows = 200, .kv_rows = 900, .dtype = DType::fp16, .seed = 3};
  const Shape two{.q_heads = 8,
                  .kv_heads = 2,
                  .q_rows = 1,
                  .kv_rows = 4000,
                  .head_dim = 128,
                  .dtype = DType::bf16,
                  .seed = 4};
  Problem first(one);
  Problem second(two);
  GpuProblem gpu_first(first);
  GpuProblem gpu_second(second);
  gpu_first.launch_by_api();
  gpu_second.launch_by_api();
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Stream a;
  Stream b;
  for (int i = 0; i < 100; ++i) {
    gpu_first.launch_by_api(a.stream);
    gpu_second.launch_by_api(b.stream);
  }
  EXPECT_EQ(gpu_first.download(), "");
  EXPECT_EQ(gpu_second.download(), "");
  EXPECT_AGREES_WITH_ORACLE(first, one);
  EXPECT_AGREES_WITH_ORACLE(second, two);
}

// A tensor whose rows lie far apart: dimension `dim` has the stride `stride`, the others are dense.
class FarTensor {
 public:
  FarTensor(const Tensor& host, std::size_t dim, int64_t stride) : host_(host), tensor(host) {
    tensor.strides[dim] = stride;
    int64_t elements = host.sizes[3];
    for (std::size_t i = 0; i < 3; ++i) elements += (host.sizes[i] - 1) * tensor.strides[i];
    memory_ = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(elements * element_bytes(host.dtype)));
    tensor.data = memory_->data();
  }
  void copy_rows(bool to_device) const {
    const auto bytes = static_cast<std::size_t>(host_.sizes[3] * element_bytes(host_.dtype));
    for (int64_t b = 0; b < host_.sizes[0]; ++b) {
      for (int64_t h = 0; h < host_.sizes[1]; ++h) {
        for (int64_t s = 0; s < host_.sizes[2]; ++s) {
          auto* near = row(host_, b, h, s);
          auto* far = row(tensor, b, h, s);
          check_cuda(cudaMemcpy(to_device ? far : near, to_device ? near : far, bytes, cudaMemcpyDefault),
                     "cudaMemcpy");
        }
      }
    }
  }

 private:
  static std::byte* row(const Tensor& t, int64_t b, int64_t h, int64_t s) {
    return static_cast<std::byte*>(t.data) +
           (b * t.strides[0] + h * t.strides[1] + s * t.strides[2]) * element_bytes(t.dtype);
  }
  const Tensor host_;
  std::unique_ptr<DeviceBuffer> memory_;

 public:
  Tensor tensor;
};

TEST(GpuForward, OffsetsPastTwoToThe31) {
  SKIP_WITHOUT_GPU();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (free_bytes < (std::size_t{40} << 30)) GTEST_SKIP() << "needs 40 GB of free GPU memory";
  for (const ForwardChoice& choice :
       {kNaive, kAmpere, kSmall, kDecode,
        ForwardChoice{.kernel = ForwardKernel::ampere_forward, .num_splits = 2}}) {
    for (std::size_t dim : {0U, 1U, 2U}) {
      const Shape shape{.batch = 2,
                        .q_heads = 2,
                        .kv_heads = 2,
                        .q_rows = choice.kernel == ForwardKernel::decode_forward ? 6 : 66,
                        .kv_rows = 130,
                        .dtype = DType::fp16};
      Problem problem(shape);
      const int64_t far =
          int64_t{1} << 31;  // elements from the first to the last index of that dimension, and more
      const auto stride = [&](const Tensor& t) { return (far / (t.sizes[dim] - 1) + 64) / 8 * 8; };
      const FarTensor q(problem.args.q, dim, stride(problem.args.q));
      const FarTensor k(problem.args.k, dim, stride(problem.args.k));
      const FarTensor v(problem.args.v, dim, stride(problem.args.v));
      const FarTensor out(problem.args.out, dim, stride(problem.args.out));
      for (const FarTensor* t : {&q, &k, &v}) t->copy_rows(true);
      GpuProblem gpu(problem);
      gpu.args.q = q.tensor;
      gpu.args.k = k.tensor;
      gpu.args.v = v.tensor;
      gpu.args.out = out.tensor;
      gpu.launch(choice);
      check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      out.copy_rows(false);
      problem.args.lse = nullptr;  // stays on the device in this test
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_test

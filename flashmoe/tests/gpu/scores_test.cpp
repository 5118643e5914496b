// SPDX-License-Identifier: MIT
// Scores that change, and sinks, by every kernel that takes them: element by element against the oracle.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "gpu/tanh_kernel.h"
#include "kernels/hopper_forward/spec.h"
#include "reference/bound.h"

namespace flashmoe::test::scores_test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

// A cap with sinks, slopes of every batch entry, sinks alone, scales of other signs, and all at once.
std::vector<Shape> changes_of(const Shape& plain) {
  std::vector<Shape> all(6, plain);
  std::vector<float> slopes, sinks;
  for (int64_t i = 0; i < plain.batch * plain.q_heads; ++i)
    slopes.push_back(std::exp2(-static_cast<float>(i % plain.q_heads + 1)));
  for (int64_t h = 0; h < plain.q_heads; ++h) sinks.push_back(static_cast<float>(h % 5) - 2);
  all[0].softcap = 3;
  all[0].sinks = sinks;
  all[1].slopes = slopes;
  all[2].sinks = sinks;
  all[3].scale = -0.1F;
  all[4].scale = 0.0F;
  all[5].softcap = 5;
  all[5].slopes = slopes;
  all[5].sinks = sinks;
  return all;
}

TEST(GpuSmall, ScoresThatChangeByTheGeneralForms) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (const Mask mask : kMasks) {
      for (const Shape& shape : changes_of({.batch = 2,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .q_rows = 70,
                                .kv_rows = 129,
                                .head_dim = 40,
                                .dtype = dtype,
                                .mask = mask})) {
        EXPECT_RUNS_ON_GPU(shape, ForwardChoice{.kernel = ForwardKernel::naive});
        EXPECT_EQ(
            trouble_with_gradients(
                shape, {.choice = {.kernel = dispatch::BackwardKernel::naive_backward}, .with_dlse = true}),
            "");
      }
    }
  }
}

TEST(GpuSmall, ScoresThatChangeByTheGeneralAmpereBackward) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 104, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Mask mask : kMasks) {
        std::vector<Shape> shapes = changes_of({.batch = 2,
                                                .q_heads = 4,
                                                .kv_heads = 2,
                                                .q_rows = 150,
                                                .kv_rows = 270,
                                                .head_dim = head_dim,
                                                .dtype = dtype,
                                                .mask = mask});
        shapes.push_back(shapes.back());
        shapes.back().window = {70, 9};
        for (const Shape& shape : shapes) {
          for (const bool deterministic : {false, true})
            EXPECT_EQ(trouble_with_gradients(shape,
                                             {.choice = {.kernel = dispatch::BackwardKernel::ampere_backward},
                                              .deterministic = deterministic,
                                              .with_dlse = true}),
                      "");
        }
      }
    }
  }
}

TEST(GpuSmall, ScoresThatChangeByTheGeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {40, 64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Mask mask : kMasks) {
        for (const Shape& shape : changes_of({.batch = 2,
                                  .q_heads = 4,
                                  .kv_heads = 2,
                                  .q_rows = 150,
                                  .kv_rows = 205,
                                  .head_dim = head_dim,
                                  .dtype = dtype,
                                  .mask = mask})) {
          for (const int splits : {1, 3})
            EXPECT_RUNS_ON_GPU(shape,
                               ForwardChoice{.kernel = ForwardKernel::ampere_forward, .num_splits = splits});
        }
      }
    }
  }
}

TEST(GpuSmall, ScoresThatChangeByEveryConfigurationOfHopper) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    if (!kernels::hopper_forward::takes_changes(t)) continue;
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Mask mask : kMasks) {
        std::vector<Shape> shapes = changes_of({.batch = 2,
                                                .q_heads = 4,
                                                .kv_heads = 2,
                                                .q_rows = 200,
                                                .kv_rows = 2 * t.tile_kv + 5,
                                                .head_dim = t.head_dim,
                                                .dtype = dtype,
                                                .mask = mask});
        shapes.pop_back();  // all at once: the general form
        for (const Shape& shape : shapes)
          EXPECT_RUNS_ON_GPU(shape, ForwardChoice{.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
      }
    }
  }
}

TEST(GpuScores, ManyTilesOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 80, 128, 256}) {
    for (const Shape& shape : changes_of({.q_heads = 32,
                              .kv_heads = 8,
                              .q_rows = 400,
                              .kv_rows = 400,
                              .head_dim = head_dim,
                              .dtype = DType::bf16,
                              .mask = Mask::causal,
                              .window = {head_dim == 80 ? 100 : Window::kUnlimited, 0}})) {
      EXPECT_RUNS_ON_GPU(shape);
    }
  }
}

TEST(GpuScores, GradientsOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Mask mask : kMasks) {
        for (const Shape& shape : changes_of({.batch = 2,
                                  .q_heads = 4,
                                  .kv_heads = 2,
                                  .q_rows = 300,
                                  .kv_rows = 260,
                                  .head_dim = head_dim,
                                  .dtype = dtype,
                                  .mask = mask})) {
          EXPECT_EQ(trouble_with_gradients(shape, {.with_dlse = true}), "");
        }
      }
    }
  }
}

// The bounds of the oracle count on it.
TEST(GpuScores, TanhIsAsGoodAsItsBoundForEveryFloat) {
  SKIP_WITHOUT_GPU();
  DeviceBuffer errors(65536 * sizeof(float));
  find_largest_errors(static_cast<float*>(errors.data()));
  std::vector<float> found(65536);
  check_cuda(cudaMemcpy(found.data(), errors.data(), errors.bytes(), cudaMemcpyDefault), "cudaMemcpy");
  const auto largest = std::max_element(found.begin(), found.end());
  RecordProperty("largest_relative_error", std::to_string(*largest));
  EXPECT_LE(*largest, reference::Precision::of(DType::bf16).tanh)
      << "at the floats from 0x" << std::hex << (largest - found.begin()) << "0000 on";
}

}  // namespace
}  // namespace flashmoe::test::scores_test

// SPDX-License-Identifier: MIT
// Rows that see runs of keys, by every kernel that takes them: element by element against the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "kernels/hopper_forward/spec.h"
#include "support/dice.h"

namespace flashmoe::test::window_test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

constexpr int64_t kAll = Window::kUnlimited;
constexpr ForwardChoice kNaive{.kernel = ForwardKernel::naive};
constexpr ForwardChoice kChosen{};
constexpr dispatch::BackwardChoice kAmpereBackward{.kernel = dispatch::BackwardKernel::ampere_backward};

// Either side, both, neither much more than a key; shorter and longer than a tile.
constexpr Window kWindows[] = {{0, 0}, {16, 0}, {70, 9}, {127, 128}, {300, kAll}, {kAll, 9}, {0, 1 << 30}};

// Small enough for compute-sanitizer.
TEST(GpuSmall, WindowsOfEveryConfigurationOfHopper) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    if (!t.runs) continue;
    const ForwardChoice choice{.kernel = ForwardKernel::hopper_forward, .tuning = tuning};
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Window window : kWindows) {
        for (const Mask mask : kMasks) {
          if (mask != Mask::none && window.left != 70) continue;
          EXPECT_RUNS_ON_GPU({.q_heads = 2,
                              .kv_heads = 1,
                              .q_rows = 150,
                              .kv_rows = 4 * t.tile_kv + 5,
                              .head_dim = t.head_dim,
                              .dtype = dtype,
                              .mask = mask,
                              .window = window},
                             choice);
        }
      }
      EXPECT_RUNS_ON_GPU({.q_heads = 8,
                          .kv_heads = 1,
                          .q_rows = 30,
                          .kv_rows = 600,
                          .head_dim = t.head_dim - 8,
                          .dtype = dtype,
                          .mask = Mask::causal,
                          .window = {140, kAll},
                          .layout = Layout::bshd},
                         choice);
    }
  }
}

// More tiles than blocks, so that blocks go from one to the next; more rows than keys and fewer.
TEST(GpuWindow, ManyTilesOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 96, 128, 192, 256}) {
    for (const auto& [rows, keys] : {std::pair<int64_t, int64_t>{300, 400}, {400, 300}}) {
      EXPECT_RUNS_ON_GPU({.q_heads = 48,
                          .kv_heads = 12,
                          .q_rows = rows,
                          .kv_rows = keys,
                          .head_dim = head_dim,
                          .dtype = DType::bf16,
                          .window = {110, 60}});
    }
  }
}

TEST(GpuWindow, EveryGpuTakesThemByNaive) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (const Window window : kWindows) {
      EXPECT_RUNS_ON_GPU({.q_heads = 2,
                          .kv_heads = 1,
                          .q_rows = 130,
                          .kv_rows = 333,
                          .head_dim = 50,
                          .dtype = dtype,
                          .window = window,
                          .layout = Layout::padded},
                         kNaive);
    }
  }
}

TEST(GpuWindow, EveryGpuTakesThemByAmpere) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {40, 64, 96, 128, 256}) {
    for (const Window window : kWindows) {
      for (const int splits : {1, 3}) {
        EXPECT_RUNS_ON_GPU({.q_heads = 4,
                            .kv_heads = 2,
                            .q_rows = 300,
                            .kv_rows = 333,
                            .head_dim = head_dim,
                            .dtype = splits == 1 ? DType::fp16 : DType::bf16,
                            .window = window},
                           {.kernel = ForwardKernel::ampere_forward, .num_splits = splits});
      }
    }
  }
}

// What broke other libraries: sides beyond the keys, a left side alone with fewer rows than keys.
TEST(GpuWindow, TakesAwkwardShapes) {
  SKIP_WITHOUT_GPU();
  for (const Window window : {Window{32, 64}, Window{0, int64_t{1} << 30}, Window{int64_t{1} << 40, 3}}) {
    EXPECT_RUNS_ON_GPU({.q_rows = 129, .kv_rows = 33, .dtype = DType::fp16, .window = window});
  }
  EXPECT_RUNS_ON_GPU({.q_rows = 300, .kv_rows = 4096, .dtype = DType::bf16, .window = {333, kAll}});
  EXPECT_RUNS_ON_GPU({.q_rows = 512,
                      .kv_rows = 128,
                      .head_dim = 128,
                      .dtype = DType::bf16,
                      .mask = Mask::causal_top_left,
                      .window = {30, kAll}});
  for (const float spread : {40.0F, 1000.0F}) {
    EXPECT_RUNS_ON_GPU(
        {.q_rows = 150, .kv_rows = 300, .dtype = DType::bf16, .window = {90, 10}, .spread = spread});
  }
}

// A decode step: by shares of the window, by whole tiles, and with the blocks before it full of NaN.
TEST(GpuWindow, ADecodeStepReadsTheWindowAlone) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "naive reads whole tiles of 64 keys";
  for (const int64_t left : {99, 2047}) {
    const Shape shape{.batch = 2,
                      .q_heads = 8,
                      .kv_heads = 2,
                      .q_rows = 1,
                      .kv_rows = 20000,
                      .head_dim = 128,
                      .dtype = DType::bf16,
                      .window = {left, 0}};
    Problem problem(shape);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t key = 0; key < (19999 - left) / 128 * 128; ++key) {
          Problem::set_row(problem.args.k, b, h, key, std::numeric_limits<float>::quiet_NaN());
          Problem::set_row(problem.args.v, b, h, key, std::numeric_limits<float>::quiet_NaN());
        }
      }
    }
    GpuProblem gpu(problem);
    gpu.launch(kChosen);
    ASSERT_EQ(gpu.download(), "");
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

// Any window, mask, shape and form.
Shape draw(Dice& dice, int64_t head_dim) {
  Shape shape{.batch = dice.between(1, 2), .kv_heads = dice.between(1, 2)};
  shape.q_heads = shape.kv_heads * dice.one_of({1, 1, 2, 4});
  shape.q_rows = dice.length(200);
  shape.kv_rows = dice.length(400);
  shape.head_dim = std::max<int64_t>(8, head_dim - 8 * dice.between(0, 2));
  shape.dtype = dice.one_of({DType::fp16, DType::bf16});
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of({Layout::bhsd, Layout::bshd});
  shape.spread = dice.one_of({1.0F, 1.0F, 4.0F, 40.0F});
  while (!shape.window.limits()) shape.window = dice.window(shape.kv_rows);
  return shape;
}

TEST(GpuWindow, RandomShapesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  const uint64_t cases = number_from("FLASHMOE_SWEEP", 400);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    Dice dice(seed);
    const int tuning = static_cast<int>(seed % kernels::hopper_forward::kNumTunings);
    if (!kernels::hopper_forward::kTunings[tuning].runs) continue;
    Shape shape = draw(dice, kernels::hopper_forward::kTunings[tuning].head_dim);
    shape.seed = seed;
    EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
  }
}

TEST(GpuWindow, GradientsOfRandomShapesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t cases = number_from("FLASHMOE_SWEEP", 200);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    Dice dice(seed);
    Shape shape = draw(dice, dice.one_of({64, 128, 256}));
    shape.seed = seed;
    shape.spread = std::min(shape.spread, 4.0F);
    BackwardProblem problem(shape, seed % 3 == 0);
    for (const bool ampere : {false, true}) {
      GpuGradients gpu(problem, seed % 2 == 0, ampere ? kAmpereBackward : dispatch::BackwardChoice{});
      gpu.launch();
      ASSERT_EQ(gpu.download(), "");
      EXPECT_EQ(problem.disagreement(), "") << describe(shape) << (ampere ? " by ampere_backward" : "");
    }
  }
}

TEST(GpuWindow, TheSameBitsEveryTime) {
  SKIP_WITHOUT_GPU();
  const Shape shape{.batch = 2,
                    .q_heads = 16,
                    .kv_heads = 16,
                    .q_rows = 1500,
                    .kv_rows = 1500,
                    .head_dim = 128,
                    .dtype = DType::bf16,
                    .window = {255, 0}};
  Problem problem(shape);
  GpuProblem gpu(problem);
  std::vector<std::byte> first;
  for (int i = 0; i < 50; ++i) {
    gpu.poison_outputs();
    gpu.launch();
    ASSERT_EQ(gpu.download(), "");
    if (i == 0) first = problem.output_bytes();
    ASSERT_EQ(problem.output_bytes(), first) << "call " << i;
  }
}

// Through the API, as a caller would: forward, and gradients by whatever kernel takes them here.
TEST(GpuWindow, GradientsAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {40, 64, 128, 256}) {
    for (const Window window : kWindows) {
      for (const bool deterministic : {false, true}) {
        const Shape shape{.q_heads = 2,
                          .kv_heads = 1,
                          .q_rows = window.left == 70 ? 200 : 130,
                          .kv_rows = 200,
                          .head_dim = head_dim,
                          .dtype = deterministic ? DType::fp16 : DType::bf16,
                          .window = window};
        BackwardProblem problem(shape);
        GpuGradients gpu(problem, deterministic);
        gpu.launch();
        gpu.launch();  // a second call finds the workspace as the first left it
        ASSERT_EQ(gpu.download(), "");
        EXPECT_EQ(problem.disagreement(), "") << describe(shape);
      }
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::window_test

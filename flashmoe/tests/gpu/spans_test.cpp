// SPDX-License-Identifier: MIT
// Masks by name on a GPU, by every kernel that takes them: element by element against the oracle.
//   FLASHMOE_SWEEP=100   so many random problems instead of 40
#include "support/spans.h"

#include <gtest/gtest.h>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "gpu/random_shape.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::test::spans_test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

// Several documents, a prefix and padding for each entry.
std::vector<Shape> masked(Shape shape) {
  const int64_t rows = shape.kv_rows;
  const auto some = static_cast<int32_t>(rows / 3);
  std::vector<Shape> shapes;
  for (const Mask mask : {Mask::none, Mask::causal}) {
    shape.mask = mask;
    shapes.push_back(shape);
    shapes.back().documents = documents_of({rows / 4, 1, rows / 3, 70}, rows);
  }
  shapes.push_back(shape);
  shapes.back().prefix.assign(static_cast<std::size_t>(shape.batch), some);
  shapes.back().prefix[0] = 5;
  shapes.push_back(shape);
  shapes.back().left_padding.assign(static_cast<std::size_t>(shape.batch), some);
  shapes.back().window = {100, Window::kUnlimited};
  shapes.push_back(shape);
  shapes.back().chunk = 130;
  return shapes;
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, SpansOfEveryConfigurationOfHopper) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    if (!t.runs || t.splits) continue;
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      const int64_t rows = 3 * t.tile_kv + 77;
      for (const Shape& shape : masked({.batch = 2,
                                .q_heads = 2,
                                .kv_heads = 1,
                                .q_rows = rows,
                                .kv_rows = rows,
                                .head_dim = t.head_dim,
                                .dtype = dtype}))
        EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
    }
  }
}

TEST(GpuSmall, SpansByTheGeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      std::vector<Shape> shapes = masked({.batch = 2,
                                          .q_heads = 4,
                                          .kv_heads = 2,
                                          .q_rows = 330,
                                          .kv_rows = 330,
                                          .head_dim = head_dim,
                                          .dtype = dtype});
      shapes.push_back(shapes[1]);
      shapes.back().first_keys = 5;
      shapes.back().window = {40, 0};
      for (const Shape& shape : shapes) EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    }
  }
}

TEST(GpuSpans, ManyTilesOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 96, 128, 192, 256}) {
    for (const Shape& shape : masked({.q_heads = 48,
                              .kv_heads = 6,
                              .q_rows = 270,
                              .kv_rows = 270,
                              .head_dim = head_dim,
                              .dtype = DType::bf16}))
      EXPECT_RUNS_ON_GPU(shape);
  }
}

TEST(GpuSpans, EveryGpuTakesThemByNaive) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (Shape shape : masked({.batch = 2,
                       .q_heads = 2,
                       .kv_heads = 1,
                       .q_rows = 333,
                       .kv_rows = 333,
                       .head_dim = 50,
                       .dtype = dtype,
                       .layout = Layout::padded})) {
      EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::naive});
      shape.first_keys = 7;
      EXPECT_RUNS_ON_GPU(shape);
    }
  }
}

TEST(GpuSmall, SpansByTheGeneralAmpereBackward) {
  SKIP_WITHOUT_GPU();
  const dispatch::BackwardChoice ampere{.kernel = dispatch::BackwardKernel::ampere_backward};
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (Shape shape : masked({.batch = 2,
                         .q_heads = 2,
                         .kv_heads = 1,
                         .q_rows = 290,
                         .kv_rows = 290,
                         .head_dim = head_dim,
                         .dtype = dtype})) {
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.choice = ampere, .deterministic = deterministic}), "");
        shape.softcap = 3;
        shape.slopes = {0.5F, 0.25F, 0.1F, 1.0F};
        EXPECT_EQ(trouble_with_gradients(shape, {.choice = ampere}), "");
        shape.window = {60, Window::kUnlimited};
        shape.first_keys = 5;
        EXPECT_EQ(trouble_with_gradients(shape, {.choice = ampere}), "");
      }
    }
  }
}

TEST(GpuSpans, RandomOnesByTheGeneralAmpereBackward) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed + 1000);
    Shape shape = random_heads(dice, seed, {DType::fp16, DType::bf16});
    shape.batch = dice.one_of({1, 2});
    throw_rows(dice, shape);
    throw_spans(dice, shape);
    if (dice.between(0, 1) == 0) shape.softcap = 3;
    EXPECT_EQ(trouble_with_gradients(shape, {.choice = {.kernel = dispatch::BackwardKernel::ampere_backward},
                                             .deterministic = shape.first_keys == 0 && seed % 2 == 0}),
              "");
  }
}

TEST(GpuSpans, GradientsAreTheOracles) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Shape& shape : masked({.batch = 2,
                                .q_heads = 2,
                                .kv_heads = 1,
                                .q_rows = 290,
                                .kv_rows = 290,
                                .head_dim = head_dim,
                                .dtype = dtype})) {
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = deterministic}), "");
      }
    }
  }
  for (Shape shape :
       masked({.batch = 2, .q_heads = 2, .kv_heads = 1, .q_rows = 200, .kv_rows = 200, .head_dim = 40})) {
    shape.first_keys = 5;
    EXPECT_EQ(trouble_with_gradients(shape), "");
  }
}

TEST(GpuSpans, RandomOnesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed);
    Shape shape{.seed = seed};
    shape.dtype = dice.one_of({DType::fp16, DType::bf16, DType::bf16, DType::fp32});
    shape.mask = dice.one_of(kMasks);
    shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
    shape.batch = dice.one_of({1, 2, 3});
    shape.kv_heads = dice.one_of({1, 2});
    shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
    throw_rows(dice, shape);
    throw_spans(dice, shape);
    EXPECT_RUNS_ON_GPU(shape);
    EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = seed % 2 == 0}), "");
  }
}

}  // namespace
}  // namespace flashmoe::test::spans_test

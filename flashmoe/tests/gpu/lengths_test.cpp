// SPDX-License-Identifier: MIT
// Sequences of different lengths on a GPU, by every kernel that takes them: element by element against the
// oracle.
//   FLASHMOE_SWEEP=100   so many random problems instead of 40
#include <gtest/gtest.h>

#include <limits>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "gpu/random_shape.h"
#include "problem/sequences.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test::lengths_test {
namespace {

using dispatch::ForwardKernel;

// Ragged ends, empty and single rows, more keys than rows and fewer; packed, and padded.
std::vector<Shape> ragged(Shape shape) {
  std::vector<Shape> shapes;
  for (const Mask mask : kMasks) {
    shape.mask = mask;
    shapes.push_back(packed(shape, {290, 1, 0, 130, 64, 3}, {290, 200, 9, 70, 0, 515}, 5));
    shape.q_rows = 200;
    shape.kv_rows = 300;
    shapes.push_back(padded(shape, {200, 0, 13, 1}, {300, 300, 0, 129}));
  }
  return shapes;
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, LengthsByTheScalarKernels) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (const Shape& shape :
         ragged({.q_heads = 2, .kv_heads = 1, .head_dim = 50, .dtype = dtype, .layout = Layout::padded})) {
      EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::naive});
      EXPECT_EQ(trouble_with_gradients(shape, {.choice = {.kernel = dispatch::BackwardKernel::naive_backward},
                                               .deterministic = true}),
                "");
    }
  }
}

TEST(GpuSmall, LengthsByTheGeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Shape& shape : ragged({.q_heads = 4, .kv_heads = 2, .head_dim = head_dim, .dtype = dtype}))
        EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    }
  }
}

TEST(GpuSmall, LengthsByHoppersKernels) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "they need compute capability 9.0";
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const Shape& shape :
         ragged({.q_heads = 2, .kv_heads = 1, .head_dim = head_dim, .dtype = DType::bf16})) {
      EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::hopper_forward});
      EXPECT_EQ(
          trouble_with_gradients(shape, {.choice = {.kernel = dispatch::BackwardKernel::hopper_backward}}),
          "");
    }
  }
}

TEST(GpuSmall, LengthsByTheGeneralAmpereBackward) {
  SKIP_WITHOUT_GPU();
  const How ampere{.choice = {.kernel = dispatch::BackwardKernel::ampere_backward}, .with_dlse = true};
  for (const int64_t head_dim : {64, 104, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (Shape shape : ragged({.q_heads = 2, .kv_heads = 1, .head_dim = head_dim, .dtype = dtype})) {
        EXPECT_EQ(trouble_with_gradients(shape, ampere), "");
        shape.softcap = 3;
        for (int64_t i = 0; i < shape.batch * shape.q_heads; ++i)
          shape.slopes.push_back(1 / static_cast<float>(i + 2));
        EXPECT_EQ(trouble_with_gradients(shape, ampere), "");
        shape.window = {60, 7};
        shape.sinks = {1, -1};
        EXPECT_EQ(trouble_with_gradients(shape, ampere), "");
      }
    }
  }
}

// Spans within sequences: documents that go on in the next one, a prefix and padding for each, first keys.
TEST(GpuSmall, SpansBesideLengths) {
  SKIP_WITHOUT_GPU();
  const How ampere{.choice = {.kernel = dispatch::BackwardKernel::ampere_backward}};
  const How naive{.choice = {.kernel = dispatch::BackwardKernel::naive_backward}, .deterministic = true};
  for (const int64_t head_dim : {64, 104, 256}) {
    for (Shape shape : ragged({.q_heads = 2, .kv_heads = 1, .head_dim = head_dim, .dtype = DType::bf16})) {
      shape.documents = documents_of({70, 200, 3}, shape.kv_rows);
      for (int64_t i = 0; i < shape.batch; ++i) {
        shape.prefix.push_back(static_cast<int32_t>(40 * i % 90));
        shape.left_padding.push_back(static_cast<int32_t>(i % 3 * 5));
      }
      for (const bool first_keys : {false, true}) {
        if (first_keys) {
          shape.prefix.clear();
          shape.window = {30, 0};
          shape.first_keys = 5;
        }
        EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
        EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::naive});
        EXPECT_EQ(trouble_with_gradients(shape, ampere), "");
        EXPECT_EQ(trouble_with_gradients(shape, naive), "");
      }
    }
  }
}

TEST(GpuLengths, RandomOnesBesideSpansAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed + 2000);
    Shape shape = random_heads(dice, seed, {DType::fp16, DType::bf16, DType::bf16, DType::fp32});
    throw_lengths(dice, 1500, 1500, shape);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;  // no kernel is asked
    shape.window = dice.window(400);
    throw_spans(dice, shape);
    EXPECT_RUNS_ON_GPU(shape);
    EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = seed % 3 == 0}), "");
  }
}

TEST(GpuLengths, RandomOnesByTheGeneralAmpereBackward) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed + 1000);
    Shape shape = random_heads(dice, seed, {DType::fp16, DType::bf16});
    throw_lengths(dice, 1500, 1500, shape);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;  // no kernel is asked
    shape.window = dice.window(400);
    if (dice.between(0, 1) == 0) shape.softcap = 3;
    EXPECT_EQ(
        trouble_with_gradients(shape, {.choice = {.kernel = dispatch::BackwardKernel::ampere_backward}}), "");
  }
}

TEST(GpuLengths, EveryHeadDimAndType) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {40, 64, 96, 128, 192, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Shape& shape : ragged({.q_heads = 6, .kv_heads = 2, .head_dim = head_dim, .dtype = dtype})) {
        EXPECT_RUNS_ON_GPU(shape);
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = deterministic}), "");
      }
    }
  }
}

// More sequences than a block has threads, and a few long ones among them.
TEST(GpuLengths, ManySequences) {
  SKIP_WITHOUT_GPU();
  std::vector<int32_t> lengths;
  for (int i = 0; i < 1500; ++i) lengths.push_back(i % 500 == 7 ? 700 : i * 37 % 50);
  const Shape shape =
      packed({.q_heads = 2, .head_dim = 64, .dtype = DType::bf16, .mask = Mask::causal}, lengths, lengths, 3);
  EXPECT_RUNS_ON_GPU(shape);
  EXPECT_EQ(trouble_with_gradients(shape), "");
}

TEST(GpuLengths, WhatNeighboursHoldReachesNobody) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    const Shape shape =
        packed({.q_heads = 2, .head_dim = head_dim, .dtype = DType::bf16}, {100, 300, 77}, {100, 300, 90});
    Problem clean(shape), spoilt(shape);
    const Sequences sequences(clean.args.lengths, clean.problem);
    for (const int64_t i : {0, 2})
      for (const Tensor& t : {spoilt.args.k, spoilt.args.v})
        for (int64_t h = 0; h < t.sizes[1]; ++h)
          for (int64_t s = sequences[i].k.rows.begin; s < sequences[i].k.rows.end; ++s)
            Problem::set_row(t, 0, h, s, std::numeric_limits<float>::quiet_NaN());
    for (Problem* problem : {&clean, &spoilt}) {
      GpuProblem gpu(*problem);
      gpu.launch();
      EXPECT_EQ(gpu.download(), "");
    }
    for (int64_t s = sequences[1].q.rows.begin; s < sequences[1].q.rows.end; ++s)
      EXPECT_EQ(clean.out(0, 1, s, 5), spoilt.out(0, 1, s, 5)) << s;
  }
}

TEST(GpuLengths, RandomOnesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed);
    Shape shape{.seed = seed};
    shape.dtype = dice.one_of({DType::fp16, DType::bf16, DType::bf16, DType::fp32});
    shape.mask = dice.one_of(kMasks);
    shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
    shape.kv_heads = dice.one_of({1, 2});
    shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
    throw_lengths(dice, 1500, 1500, shape);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;  // no kernel is asked
    shape.window = dice.window(400);
    EXPECT_RUNS_ON_GPU(shape);
    EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = seed % 2 == 0}), "");
  }
}

}  // namespace
}  // namespace flashmoe::test::lengths_test

// SPDX-License-Identifier: MIT
// Every forward kernel on scores from 1e4 to 1e37: fp32 is finer than any weight needs, coarse, and far
// coarser than 1 there.
#include <gtest/gtest.h>

#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "support/deciding_key.h"

namespace flashmoe::test::large_scores_test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

constexpr float kSizes[] = {1e4F, 1e6F, 1e9F, 1e12F, 1e36F};  // fp16: the first alone

// The key that decides lies in the first block that a kernel walks, in the last, and between; rows that it
// decides against have to find the others.
void expect_right(const Shape& shape, const ForwardChoice& choice) {
  for (float size : kSizes) {
    if (shape.dtype == DType::fp16 && size > 6e4F) continue;
    for (int64_t key : {int64_t{0}, shape.kv_rows / 2, shape.kv_rows - 1}) {
      Problem problem(shape);
      set_deciding_key(problem, key, size);
      run_on_model(problem, {.choice = choice});
      EXPECT_EQ(trouble_with_deciding_key(problem, key), "")
          << describe(shape) << " key " << key << " of " << size;
    }
    Problem equal(shape);
    set_equal_keys(equal, size);
    run_on_model(equal, {.choice = choice});
    EXPECT_EQ(trouble_with_equal_keys(equal), "") << describe(shape) << " all keys " << size;
  }
}

TEST(LargeScores, AreRightInNaive) {
  for (DType dtype : kDTypes)
    expect_right({.q_rows = 20, .kv_rows = 150, .head_dim = 64, .dtype = dtype},
                 {.kernel = ForwardKernel::naive});
}

TEST(LargeScores, AreRightInEveryFormOfAmpere) {
  for (int64_t head_dim : {32, 64, 96, 128, 192, 256}) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      expect_right({.q_rows = 20, .kv_rows = 150, .head_dim = head_dim, .dtype = dtype},
                   {.kernel = ForwardKernel::ampere_forward, .num_splits = 1});
    }
  }
}

TEST(LargeScores, AreRightInEveryFormOfHopper) {
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    expect_right({.q_rows = 70, .kv_rows = 2 * t.tile_kv + 9, .head_dim = t.head_dim, .dtype = DType::bf16},
                 {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
  }
}

TEST(LargeScores, AreRightInSmall) {
  for (int64_t head_dim : {64, 128}) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      expect_right({.q_rows = 70, .kv_rows = 70, .head_dim = head_dim, .dtype = dtype},
                   {.kernel = ForwardKernel::small_forward});
    }
  }
}

TEST(LargeScores, AreRightInDecode) {
  for (DType dtype : {DType::fp16, DType::bf16}) {
    expect_right({.q_heads = 4, .kv_heads = 1, .q_rows = 2, .kv_rows = 900, .head_dim = 128, .dtype = dtype},
                 {.kernel = ForwardKernel::decode_forward});
  }
}

// Splits of unequal length: what each says of itself has to keep its sum beside a maximum of any size.
TEST(LargeScores, AreRightWhereSplitsAreCombined) {
  for (ForwardKernel kernel : {ForwardKernel::ampere_forward, ForwardKernel::decode_forward}) {
    expect_right({.q_rows = 5, .kv_rows = 330, .head_dim = 64, .dtype = DType::bf16},
                 {.kernel = kernel, .num_splits = 3});
  }
}

}  // namespace
}  // namespace flashmoe::test::large_scores_test

// SPDX-License-Identifier: MIT
// Tensors for every pair on a GPU, bool ones by their bits, others added by TMA or from where they lie:
// element by element against the oracle.
//   FLASHMOE_SWEEP=100   so many random problems instead of 40
#include <gtest/gtest.h>

#include "device/probe.h"
#include "gpu/on_gpu.h"
#include "kernels/hopper_forward/spec.h"
#include "support/bool_masks.h"
#include "support/dice.h"
#include "support/general.h"

namespace flashmoe::test::pairs_test {
namespace {

using dispatch::ForwardKernel;

PairType own_type(DType dtype) { return dtype == DType::fp16 ? PairType::fp16 : PairType::bf16; }

Shape with_pairs(Shape shape, const Shown& shown, PairType type = PairType::boolean) {
  shape.pairs = type;
  shape.pairs_aligned = true;
  shape.pairs_shared = {true, true, false, false};
  shape.pairs_shown = shown;
  return shape;
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, TensorsByEveryConfigurationOfHopper) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    if (!kernels::hopper_forward::takes_bits(t)) continue;
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Shown& shown : bool_masks(t.tile_kv)) {
        const Shape shape{.batch = 2,
                          .q_heads = 2,
                          .kv_heads = 1,
                          .q_rows = t.tile_q() + 50,
                          .kv_rows = 3 * t.tile_kv + 77,
                          .head_dim = t.head_dim,
                          .dtype = dtype};
        const dispatch::ForwardChoice choice{.kernel = ForwardKernel::hopper_forward, .tuning = tuning};
        EXPECT_RUNS_ON_GPU(with_pairs(shape, shown), choice);
        if (!kernels::hopper_forward::takes_bias(t)) continue;
        EXPECT_RUNS_ON_GPU(with_pairs(shape, shown, own_type(dtype)), choice);
      }
    }
  }
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, TensorsByTheGeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 40; ++seed)
    EXPECT_RUNS_ON_GPU(random_pairs_shape(seed, 200), {.kernel = ForwardKernel::ampere_forward});
}

TEST(GpuPairs, RandomOnesBesideAllElseAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 101; seed <= 100 + count; ++seed) {
    const Shape shape = random_pairs_shape(seed, 700);
    EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    EXPECT_RUNS_ON_GPU(shape);  // what is chosen here
  }
}

// Keys in twos, and one by one beside all else.
TEST(GpuPairs, ManyTilesOfTheGeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const PairType type : kPairTypes) {
      Shape shape{.q_heads = 24,
                  .kv_heads = 3,
                  .q_rows = 340,
                  .kv_rows = 340,
                  .head_dim = head_dim,
                  .dtype = DType::bf16};
      shape.pairs = type;
      shape.pairs_shared = {true, false, false, false};
      EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
      shape.dtype = DType::fp16;
      shape.kv_rows = 341;
      shape.mask = Mask::causal;
      shape.dropout = {.p = 0.2F, .seed = 5};
      shape.sinks = some_sinks(shape);
      EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    }
  }
}

TEST(GpuPairs, ManyTilesOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const Shown& shown : bool_masks(128)) {
      for (const PairType type : {PairType::boolean, PairType::bf16}) {
        EXPECT_RUNS_ON_GPU(with_pairs({.q_heads = 24,
                                       .kv_heads = 3,
                                       .q_rows = 540,
                                       .kv_rows = 540,
                                       .head_dim = head_dim,
                                       .dtype = DType::bf16},
                                      shown, type));
      }
    }
  }
}

TEST(GpuPairs, RandomOnesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 4, .seed = seed};
    shape.kv_heads = dice.one_of({1, 2, 4});
    shape.head_dim = dice.one_of({8, 40, 64, 96, 128, 160, 256});
    shape.dtype = dice.between(0, 1) == 0 ? DType::fp16 : DType::bf16;
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of({Layout::bhsd, Layout::bshd});
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(700);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(700);
    shape.window = dice.window(shape.kv_rows);
    shape.pairs = seed % 2 == 0 ? PairType::boolean : own_type(shape.dtype);
    shape.pairs_aligned = dice.between(0, 3) != 0;
    shape.pairs_step = dice.one_of({1, 1, 1, 2});
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    if (seed % 2 != 0 && dice.between(0, 1) == 0) shape.sinks.assign(4, 0.5F);
    EXPECT_RUNS_ON_GPU(shape);
  }
}

}  // namespace
}  // namespace flashmoe::test::pairs_test

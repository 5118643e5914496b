// SPDX-License-Identifier: MIT
// The general form of ampere_forward with a tensor for every pair, on the model of a GPU: bool or added, of
// any type and strides, and beside everything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "dispatch/run.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/on_model.h"
#include "numeric/pair_value.h"
#include "support/bool_masks.h"
#include "support/general.h"

namespace flashmoe::test::ampere_pairs_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

dispatch::ForwardChoice in_splits(int splits) {
  return {.kernel = dispatch::ForwardKernel::ampere_forward, .num_splits = splits};
}
const dispatch::ForwardChoice kAmpere = in_splits(1);

class AmperePairs : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return GetParam(); }
  int64_t tile_q() const { return kernels::ampere_forward::pairs_form_for(GetParam()).tile_q; }
  int64_t tile_kv() const { return kernels::ampere_forward::pairs_form_for(GetParam()).tile_kv; }

  Shape with(PairType type, int64_t rows, int64_t keys, DType dtype = DType::bf16) const {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 1,
                .q_rows = rows,
                .kv_rows = keys,
                .head_dim = head_dim(),
                .dtype = dtype};
    shape.pairs = type;
    return shape;
  }
};
INSTANTIATE_TEST_SUITE_P(HeadDim, AmperePairs, testing::ValuesIn(kernels::ampere_forward::kRunsHeadDims));

// Tiles of nothing are not walked, and those of everything not masked.
TEST_P(AmperePairs, AgreeWithTheOracleWhateverTheyHide) {
  for (const PairType type : kPairTypes) {
    for (const Shown& shown : bool_masks(tile_kv())) {
      Shape shape = with(type, tile_q() + 50, 4 * tile_kv() + 22);
      shape.batch = 1;
      shape.pairs_shared = {true, true, false, false};
      shape.pairs_shown = shown;
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    }
  }
}

TEST_P(AmperePairs, AreSharedAlongAnyDimension) {
  for (int shared = 0; shared < 16; ++shared) {
    for (const PairType type : {kPairTypes[shared % 4], kPairTypes[(shared + 1) % 4]}) {
      Shape shape = with(type, 37, 2 * tile_kv() + 6, shared % 2 == 0 ? DType::fp16 : DType::bf16);
      shape.head_dim -= 8;
      for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    }
  }
}

// Two keys are one load where they may be; else they are two, and no key past the last is read.
TEST_P(AmperePairs, LieInMemoryAsTheyLike) {
  for (const PairType type : kPairTypes) {
    for (const int64_t keys :
         {int64_t{1}, int64_t{2}, tile_kv() - 1, tile_kv(), tile_kv() + 1, int64_t{70}}) {
      EXPECT_RUNS_ON_MODEL(with(type, 20, keys), kAmpere, 1);
      Shape apart = with(type, 20, keys);
      apart.pairs_step = 2;
      EXPECT_RUNS_ON_MODEL(apart, kAmpere, 1);
      Shape padded = with(type, 20, keys);
      padded.pairs_aligned = true;
      EXPECT_RUNS_ON_MODEL(padded, kAmpere, 1);
    }
    // From the second element on: a row's last value is then in the gap behind it.
    Shape shape = with(type, 20, 70);
    shape.pairs_aligned = true;
    Problem problem(shape);
    PairTensor& tensor = problem.args.scores.attn_mask;
    const int64_t bytes = element_bytes(type);
    auto* elements = static_cast<std::byte*>(const_cast<void*>(tensor.data));
    for (int64_t row = 0; row < shape.batch * shape.q_heads * shape.q_rows; ++row) {
      std::byte* first = elements + row * tensor.strides[2] * bytes;
      std::copy_n(first, bytes, first + shape.kv_rows * bytes);
    }
    tensor.data = elements + bytes;
    run_on_model(problem, {.choice = kAmpere});
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST_P(AmperePairs, GoWithEveryMaskAndWindow) {
  for (const Mask mask : kMasks) {
    for (const PairType type : kPairTypes) {
      Shape shape = with(type, tile_q() + 30, 4 * tile_kv() + 10);
      shape.mask = mask;
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
      shape.window = {tile_kv() + 9, 2};
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    }
  }
}

TEST_P(AmperePairs, GoWithEveryChangeOfScoresAndDropout) {
  for (const PairType type : kPairTypes) {
    const Shape plain = with(type, tile_q() + 30, 3 * tile_kv() + 12, DType::fp16);
    Shape capped = plain;
    capped.softcap = 3;
    EXPECT_RUNS_ON_MODEL(capped, kAmpere, 1);
    Shape sloped = plain;
    sloped.slopes = some_slopes(plain);
    EXPECT_RUNS_ON_MODEL(sloped, kAmpere, 1);
    Shape scaled = plain;
    scaled.scale = -0.2F;
    scaled.sinks = some_sinks(plain);
    EXPECT_RUNS_ON_MODEL(scaled, kAmpere, 1);
    Shape dropped = plain;
    dropped.dropout = {.p = 0.3F, .seed = 0x123456789};
    EXPECT_RUNS_ON_MODEL(dropped, kAmpere, 1);
    Shape all = dropped;
    all.mask = Mask::causal;
    all.softcap = 3;
    all.slopes = some_slopes(plain);
    all.sinks = some_sinks(plain);
    EXPECT_RUNS_ON_MODEL(all, kAmpere, 1);
  }
}

// What spans let rows see beside a causal mask, and first keys with a gap behind them.
TEST_P(AmperePairs, GoWithSpans) {
  for (const PairType type : kPairTypes) {
    Shape plain = with(type, tile_q() + 2 * tile_kv() + 20, tile_q() + 2 * tile_kv() + 20);
    plain.mask = Mask::causal;
    Shape prefix = plain;
    prefix.prefix = {static_cast<int32_t>(tile_kv() + 11), 0};
    EXPECT_RUNS_ON_MODEL(prefix, kAmpere, 1);
    Shape documents = plain;
    documents.documents = documents_of({3, 2 * tile_kv() + 9, 1}, plain.kv_rows);
    EXPECT_RUNS_ON_MODEL(documents, in_splits(2), 1);
    Shape first_keys = plain;
    first_keys.window = {tile_kv() + 5, 0};
    first_keys.first_keys = 4;
    EXPECT_RUNS_ON_MODEL(first_keys, in_splits(2), 1);
    first_keys.q_rows = 20;
    first_keys.kv_rows = 8 * tile_kv() + 30;
    EXPECT_RUNS_ON_MODEL(first_keys, in_splits(3), 1);
  }
}

// Heads of one position stand side by side in a tile: each has a tensor of its own, or not.
TEST_P(AmperePairs, GoInPacksAndSplits) {
  for (const PairType type : kPairTypes) {
    for (const bool one_for_all : {false, true}) {
      for (const int splits : {1, 3}) {
        Shape shape = with(type, 13, 8 * tile_kv() + 10);
        shape.q_heads = 8;
        shape.kv_heads = 2;
        shape.mask = Mask::causal;
        shape.sinks = some_sinks(shape);
        shape.pairs_shared = {one_for_all, one_for_all, false, false};
        shape.pairs_shown = [&](int64_t b, int64_t h, int64_t row, int64_t key) {
          const int64_t from = one_for_all ? 70 : 20 * h + 70 * b;  // heads begin at other tiles
          return key >= from && (key + row) % 5 != 0;
        };
        Problem problem(shape);
        EXPECT_EQ(run_on_model(problem, {.choice = in_splits(splits)}).pack, 4);
        EXPECT_AGREES_WITH_ORACLE(problem, shape);
      }
    }
  }
  // As a step of decoding has it.
  Shape step = with(PairType::fp32, 1, 300);
  step.q_heads = 8;
  step.pairs_shared = {false, true, true, false};
  EXPECT_RUNS_ON_MODEL(step, in_splits(4), 1);
}

// Far beyond what scores are without.
TEST_P(AmperePairs, MayBeLarge) {
  for (const float spread : {1e3F, 1e30F, 1e37F}) {
    Shape shape = with(PairType::fp32, 70, 3 * tile_kv());
    shape.pairs_spread = spread;
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    shape.pairs = PairType::bf16;
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
  }
}

// "Hidden" said by the lowest number there is hides nothing in a row that has nothing else.
TEST_P(AmperePairs, ARowOfTheLowestNumberIsAnAverage) {
  const int64_t keys = 70;
  const Shape shape = with(PairType::fp32, 5, keys);
  Problem problem(shape);
  auto* values = static_cast<float*>(const_cast<void*>(problem.args.scores.attn_mask.data));
  std::fill_n(values, 5 * keys, 0.0F);
  std::fill_n(values + 2 * keys, keys, std::numeric_limits<float>::lowest());
  run_on_model(problem, {.choice = kAmpere});
  float mean = 0;
  for (int64_t key = 0; key < keys; ++key) mean += Problem::get(problem.args.v, 0, 0, key, 3) / keys;
  EXPECT_NEAR(problem.out(0, 0, 2, 3), mean, 1e-2F);
  EXPECT_LT(problem.lse(0, 0, 2), -1e38F);
  EXPECT_GT(problem.lse(0, 0, 2), -std::numeric_limits<float>::infinity());
}

// K and V of tiles that the tensor hides are not read.
TEST_P(AmperePairs, SkipWhatTheyHideFromAllRowsOfATile) {
  for (const PairType type : {PairType::boolean, PairType::fp16, PairType::bf16}) {
    const int64_t keys = 12 * tile_kv();
    Shape shape = with(type, tile_q() + 9, keys);
    shape.batch = 1;
    const int64_t begin = 128, end = 192;  // a strip of 64 keys
    shape.pairs_shown = [&](int64_t, int64_t, int64_t, int64_t key) { return key >= begin && key < end; };
    const auto spoilt = [&](bool spoil) {
      Problem problem(shape);
      for (const Tensor& t : {problem.args.k, problem.args.v}) {
        for (int64_t s = 0; s < keys; ++s) {
          if (spoil && (s < begin || s >= end)) Problem::set_row(t, 0, 0, s, kNaN);
        }
      }
      run_on_model(problem, {.choice = kAmpere});
      return problem.output_bytes();
    };
    EXPECT_EQ(spoilt(true), spoilt(false));
  }
}

TEST(AmperePairsShapes, RandomOnesAgreeWithTheOracleBesideAllElse) {
  const uint64_t count = number_from("FLASHMOE_SWEEP", 90);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Shape shape = random_pairs_shape(seed, 300);
    EXPECT_RUNS_ON_MODEL(shape, in_splits(1 + static_cast<int>(seed % 3)), 1);
  }
}

TEST(AmperePairsShapes, AreTheSameBitForBitUnderEverySchedule) {
  Shape shape = random_pairs_shape(3, 300);
  Problem first(shape);
  run_on_model(first, {.choice = kAmpere});
  for (const uint64_t seed : {1, 2, 3}) {
    Problem again(shape);
    run_on_model(again, {.choice = kAmpere, .settings = {.seed = seed}});
    EXPECT_EQ(again.output_bytes(), first.output_bytes());
  }
}

dispatch::ForwardPlan plan_of(const Shape& shape, const char* gpu) {
  const Problem problem(shape);
  return dispatch::plan_forward(problem.problem, dispatch::addressing_of(problem.args), device::find(gpu));
}

TEST(AmperePairsPlan, EveryTensorGoesThereBeforeHopper) {
  for (const PairType type : kPairTypes) {
    for (const int64_t head_dim : {8, 64, 72, 128, 256}) {
      Shape shape{.q_heads = 4, .kv_heads = 2, .q_rows = 300, .kv_rows = 301, .head_dim = head_dim};
      shape.dtype = DType::bf16;
      shape.pairs = type;
      for (const char* gpu : {"L4", "A100"}) {
        const dispatch::ForwardPlan plan = plan_of(shape, gpu);
        EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::ampere_forward);
        EXPECT_EQ(plan.tile_kv, kernels::ampere_forward::pairs_form_for(static_cast<int>(head_dim)).tile_kv);
      }
      shape.layout = Layout::padded;  // rows at any alignment
      EXPECT_EQ(plan_of(shape, "L4").kernel, dispatch::ForwardKernel::naive);
    }
  }
}

TEST(AmperePairsPlan, OnHopperWhatItHasNoFormForGoesThere) {
  Shape shape{.q_heads = 4, .kv_heads = 1, .q_rows = 300, .kv_rows = 300, .dtype = DType::bf16};
  shape.pairs = PairType::bf16;
  shape.pairs_aligned = true;
  const auto ampere = [&](auto change) {
    Shape other = shape;
    change(other);
    return plan_of(other, "H200").kernel == dispatch::ForwardKernel::ampere_forward;
  };
  EXPECT_FALSE(ampere([](Shape&) {}));
  EXPECT_TRUE(ampere([](Shape& s) { s.pairs = PairType::fp32; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.pairs = PairType::fp16; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.pairs_aligned = false; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.pairs_shared[2] = true; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.dropout = {.p = 0.1F, .seed = 1}; }));
  shape.pairs = PairType::boolean;
  EXPECT_FALSE(ampere([](Shape&) {}));
  EXPECT_TRUE(ampere([](Shape& s) { s.sinks = {1, 1, 1, 1}; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.chunk = 50; }));
  EXPECT_TRUE(ampere([](Shape& s) { s.dropout = {.p = 0.1F, .seed = 1}; }));
}

TEST(AmperePairsPlan, SaysHowTheTensorIsRead) {
  Shape shape{.q_rows = 300, .kv_rows = 300, .head_dim = 64, .dtype = DType::bf16};
  const auto words = [&](PairType type, int64_t rows) {
    shape.pairs = type;
    shape.q_rows = rows;
    const Problem problem(shape);
    const device::Spec& spec = device::find("A100");
    const auto plan = dispatch::plan_forward(problem.problem, true, spec);
    return dispatch::explain(plan, problem.problem, spec);
  };
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(words(PairType::boolean, 1),
       "pairs: what the tensor shows, in bits that prepare_pairs makes before\n");
  says(words(PairType::fp16, 300), "pairs: the tensor from where it lies, but for tiles that prepare_pairs");
  says(words(PairType::fp16, 64), "pairs: the tensor from where it lies\n");
  says(words(PairType::fp32, 300), "pairs: the tensor from where it lies\n");
  says(words(PairType::fp32, 300), "form: the general one");
}

}  // namespace
}  // namespace flashmoe::test::ampere_pairs_test

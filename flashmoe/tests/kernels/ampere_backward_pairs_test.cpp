// SPDX-License-Identifier: MIT
// Tensors in the general form of ampere_backward on the model of a GPU: of any type and strides, beside all
// else that the form takes, and the gradients of those that are added.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dispatch/explain_backward.h"
#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_on_model.h"
#include "support/general.h"
#include "support/pair_patterns.h"

namespace flashmoe::test::ampere_backward_pairs_test {
namespace {

namespace ampere = kernels::ampere_backward;

using Pattern = bool (*)(int64_t, int64_t, int64_t, int64_t);
constexpr Pattern kScattered = nullptr;  // a third is hidden
constexpr Pattern kPatterns[] = {kScattered,          &causal_pairs, &patches_of_pairs,
                                 &some_rows_and_keys, &all_pairs,    &no_pairs};
constexpr PairType kTypes[] = {PairType::fp32, PairType::fp16, PairType::bf16, PairType::boolean};

class AmpereBackwardPairs : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!ampere::is_general(GetParam())) GTEST_SKIP() << "the general form has another row for this head_dim";
  }
  const ampere::Tuning& tuning() const { return ampere::kTunings[GetParam()]; }
  dispatch::BackwardChoice choice() const {
    return {.kernel = dispatch::BackwardKernel::ampere_backward, .tuning = GetParam()};
  }
  // Several tiles each way, with tails, of a tensor whose rows begin anywhere.
  Shape shape(PairType type, DType dtype = DType::bf16, Pattern pattern = kScattered) const {
    Shape made{.q_heads = 2,
               .kv_heads = 1,
               .q_rows = 2 * tuning().tile_q + 11,
               .kv_rows = tuning().tile_kv + 9,
               .head_dim = tuning().head_dim,
               .dtype = dtype};
    made.pairs = type;
    if (pattern != kScattered) made.pairs_shown = pattern;
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, AmpereBackwardPairs, testing::Range(0, ampere::kNumTunings));

TEST_P(AmpereBackwardPairs, TakesEveryTypeAndPattern) {
  for (const PairType type : kTypes) {
    for (const Pattern pattern : kPatterns) {
      const bool fp16 = type == PairType::fp16 || pattern == &causal_pairs;
      EXPECT_GRADIENTS_ON_MODEL(shape(type, fp16 ? DType::fp16 : DType::bf16, pattern),
                                {.with_dlse = fp16, .seeds = 1, .choice = choice()});
    }
  }
}

// In no order, and in one, where the tensor's gradient is a kernel's behind if it is sums.
TEST_P(AmpereBackwardPairs, AreSharedAlongAnyDimension) {
  // What shares is the same code in every form: each has half of the ways.
  for (int shared = GetParam() % 2; shared < 16; shared += 2) {
    Shape each = shape(kTypes[shared % 3], shared % 2 == 0 ? DType::bf16 : DType::fp16);
    each.batch = 2;
    each.q_rows = tuning().tile_q + 11;
    for (std::size_t i = 0; i < 4; ++i) each.pairs_shared[i] = (shared >> i & 1) != 0;
    // Of the LSE too: a row's gradients sum to 0 without.
    EXPECT_GRADIENTS_ON_MODEL(each, {.with_dlse = true, .seeds = 1, .choice = choice()});
    if (shared % 5 != 0) continue;
    EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = true, .seeds = 1, .choice = choice()});
    each.pairs = PairType::boolean;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardPairs, LieAnywhere) {
  for (const PairType type : kTypes) {
    Shape each = shape(type);
    each.pairs_step = 3;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
    each.pairs_step = 1;
    each.pairs_aligned = true;
    each.layout = Layout::bshd;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardPairs, TakesHeadDimsBetweenFormsAndSizesAroundATile) {
  for (const int64_t more : {-1, 0, 1}) {
    Shape near = shape(more == 0 ? PairType::boolean : PairType::fp32, DType::fp16);
    near.q_rows = tuning().tile_q + more;
    near.kv_rows = tuning().tile_kv + more;
    near.head_dim -= 24;
    EXPECT_GRADIENTS_ON_MODEL(near, {.seeds = 1, .choice = choice()});
    near.kv_rows = 1;
    near.pairs = PairType::bf16;
    EXPECT_GRADIENTS_ON_MODEL(near, {.seeds = 1, .choice = choice()});
    near.q_rows = 1;
    near.kv_rows = tuning().tile_kv + more;
    EXPECT_GRADIENTS_ON_MODEL(near, {.seeds = 1, .choice = choice()});
  }
}

// Tiles that masks leave out have gradients of 0 too.
TEST_P(AmpereBackwardPairs, GoWithMasksWindowsAndEveryChangeOfScores) {
  for (const Mask mask : kMasks) {
    Shape each = shape(PairType::fp32, mask == Mask::causal ? DType::fp16 : DType::bf16);
    each.mask = mask;
    each.q_rows = 3 * tuning().tile_q + 5;
    each.kv_rows = 2 * tuning().tile_kv + 5;
    each.sinks = some_sinks(each);
    each.slopes = some_slopes(each);
    EXPECT_GRADIENTS_ON_MODEL(each, {.with_dlse = true, .seeds = 1, .choice = choice()});
    each.softcap = 2;  // the tensor's gradient is the one before its derivative
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
    each.window = {20, 9};
    each.pairs_shared = {false, true, false, false};
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
    each.pairs = PairType::boolean;
    EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = true, .seeds = 1, .choice = choice()});
  }
  for (const float scale : {0.0F, -0.2F}) {
    Shape scaled = shape(PairType::bf16);
    scaled.scale = scale;
    EXPECT_GRADIENTS_ON_MODEL(scaled, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardPairs, GoWithDropout) {
  for (const PairType type : kTypes) {
    Shape each = shape(type);
    each.dropout = {.p = 0.3F, .seed = 0x123456789};
    EXPECT_GRADIENTS_ON_MODEL(each, {.with_dlse = true, .seeds = 1, .choice = choice()});
    each.softcap = 2;
    each.pairs_shared = {false, false, type == PairType::fp32, type == PairType::fp16};
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardPairs, GoWithSpans) {
  const auto keys = static_cast<int32_t>(tuning().tile_kv);
  Shape square = shape(PairType::bf16);
  square.batch = 2;
  square.q_heads = 1;
  square.mask = Mask::causal;
  square.q_rows = square.kv_rows = std::max(2 * keys + 20, 150);
  Shape documents = square, prefix = square, padding = square, first_keys = square;
  documents.documents = documents_of({keys + 17, 3, keys - 8}, square.kv_rows);
  prefix.prefix = {keys + 30, 5};
  padding.left_padding = {keys + 9, 0};
  first_keys.window = {20, 0};
  first_keys.first_keys = 3;
  for (Shape each : {documents, prefix, padding, first_keys}) {
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
    each.pairs = PairType::boolean;
    EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = each.first_keys == 0, .seeds = 1, .choice = choice()});
  }
}

// LSEs far from 0, by scores and by what is added to them.
TEST_P(AmpereBackwardPairs, TakeHugeLogits) {
  for (const int64_t keys : {1, 140}) {
    Shape huge = shape(PairType::fp32, DType::bf16, &all_pairs);
    huge.kv_rows = keys;
    huge.spread = 40;
    EXPECT_GRADIENTS_ON_MODEL(huge, {.seeds = 1, .choice = choice()});
    huge.spread = 1;
    huge.pairs_spread = 1e4F;
    EXPECT_GRADIENTS_ON_MODEL(huge, {.seeds = 1, .choice = choice()});
    huge.pairs_spread = 1e38F;
    EXPECT_GRADIENTS_ON_MODEL(huge, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardPairs, RandomOnesAgreeBesideAllElse) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed + 500);
    Shape random{.q_heads = 2, .kv_heads = 1, .head_dim = tuning().head_dim, .seed = seed};
    random.dtype = dice.one_of({DType::fp16, DType::bf16});
    random.mask = dice.one_of(kMasks);
    random.batch = dice.one_of({1, 2});
    random.kv_rows = dice.between(1, 280);
    random.q_rows = dice.between(0, 1) == 0 ? random.kv_rows : dice.between(1, 220);
    random.window = dice.window(random.kv_rows);
    random.pairs = dice.one_of(kTypes);
    random.pairs_step = dice.one_of({1, 1, 2});
    for (bool& shared : random.pairs_shared) shared = dice.between(0, 2) == 0;
    if (const Pattern pattern = dice.one_of(kPatterns); pattern != kScattered) random.pairs_shown = pattern;
    if (dice.between(0, 1) == 0) throw_spans(dice, random);
    throw_scores(dice, random);
    if (dice.between(0, 2) == 0) random.dropout = {.p = dice.one_of({0.1F, 0.6F}), .seed = seed << 30};
    EXPECT_GRADIENTS_ON_MODEL(random, {.deterministic = random.first_keys == 0 && seed % 2 == 0,
                                       .with_dlse = seed % 3 == 0,
                                       .seeds = 1,
                                       .choice = choice()});
  }
}

// Blocks run in another order with every seed, and with them, unless they take turns, additions.
TEST_P(AmpereBackwardPairs, DeterministicMeansTheSameBits) {
  for (const bool shared : {false, true}) {
    Shape many = shape(PairType::fp32, DType::fp16);
    many.batch = 2;
    many.kv_heads = 2;
    many.kv_rows = 3 * tuning().tile_kv - 12;
    many.pairs_shared = {shared, shared, false, false};
    BackwardProblem problem(many);
    for (const bool deterministic : {true, false}) {
      std::vector<std::byte> first;
      bool same = true;
      for (uint64_t seed = 0; seed < 4; ++seed) {
        problem.poison_gradients();
        run_backward_on_model(problem, deterministic, {.seed = seed}, {}, choice());
        std::vector<std::byte> bytes = problem.gradient_bytes();
        const auto* of_pairs = reinterpret_cast<const std::byte*>(problem.dattn_mask().data);
        bytes.insert(bytes.end(), of_pairs, of_pairs + problem.dattn_mask_bytes());
        if (seed == 0) first = bytes;
        same = same && bytes == first;
      }
      EXPECT_EQ(same, deterministic);
    }
  }
}

ForwardProblem paired(PairType type, int64_t head_dim = 64) {
  return {.q_heads = 2,
          .q_rows = 513,
          .kv_rows = 300,
          .head_dim = head_dim,
          .dtype = DType::bf16,
          .scale = 1,
          .attn_mask = true,
          .pairs = {.type = type, .per_head = true}};
}

TEST(AmpereBackwardPairsPlan, TakesEveryTensorBeforeHopperAndOnItWhatHopperHasNoFormFor) {
  using dispatch::BackwardKernel;
  for (const int64_t head_dim : {8, 64, 128, 256}) {
    for (const PairType type : kTypes) {
      const ForwardProblem plain = paired(type, head_dim);
      ForwardProblem dropped = plain, capped = plain, spans = plain;
      dropped.dropout.p = 0.1F;
      capped.softcap = 2;
      spans.spans.documents = true;
      for (const ForwardProblem& p : {plain, dropped, capped, spans}) {
        for (const char* gpu : {"A100 40GB", "L4", "H200"}) {
          const device::Spec& spec = device::find(gpu);
          const bool only_a_tensor = p.softcap == 0 && p.dropout.p == 0 && !p.spans.given();
          const bool by_hopper = spec.arch == 90 && only_a_tensor &&
                                 (type == PairType::boolean || (type == PairType::bf16 && head_dim <= 128));
          const auto plan = dispatch::plan_backward(p, true, spec, false);
          EXPECT_EQ(plan.kernel,
                    by_hopper ? BackwardKernel::hopper_backward : BackwardKernel::ampere_backward);
          EXPECT_EQ(plan.general, !by_hopper);
          EXPECT_EQ(dispatch::plan_backward(p, true, spec, true).kernel, plan.kernel);
          EXPECT_EQ(dispatch::plan_backward(p, false, spec, false).kernel, BackwardKernel::naive_backward);
          EXPECT_NE(dispatch::explain(plan, p, spec).find("pairs: "), std::string::npos);
        }
      }
    }
  }
}

TEST(AmpereBackwardPairsPlan, LeavesTheGradientOfTheTensorInTheSamePass) {
  using dispatch::BackwardKernel;
  for (const char* gpu : {"L4", "H200"}) {
    const device::Spec& spec = device::find(gpu);
    for (const PairGradients gradients : {PairGradients::of_pairs, PairGradients::sums}) {
      ForwardProblem p = paired(PairType::bf16);
      p.pairs.gradients = gradients;
      for (const bool deterministic : {false, true}) {
        const auto plan = dispatch::plan_backward(p, true, spec, deterministic);
        const std::string text = dispatch::explain(plan, p, spec);
        const bool alone = gradients == PairGradients::of_pairs;
        EXPECT_EQ(plan.with_dpairs, alone || !deterministic);
        EXPECT_EQ(plan.kernel, plan.with_dpairs || spec.arch != 90 ? BackwardKernel::ampere_backward
                                                                   : BackwardKernel::hopper_backward);
        EXPECT_NE(text.find(!plan.with_dpairs ? "naive_dpairs"
                            : alone           ? "by the same kernel, with the same bits"
                                              : "by the same kernel, summed in the order"),
                  std::string::npos)
            << text;
      }
    }
  }
}

// Two elements that are one in a dimension of one are no sum.
TEST(AmpereBackwardPairsPlan, ElementsOfOnePairAreNoSums) {
  ForwardProblem p = paired(PairType::fp32);
  float element = 0;
  EXPECT_EQ(p.pair_gradients({}), PairGradients::none);
  EXPECT_EQ(p.pair_gradients({&element, {0, 513 * 300, 300, 1}}), PairGradients::of_pairs);
  EXPECT_EQ(p.pair_gradients({&element, {0, 0, 300, 1}}), PairGradients::sums);
  p.batch = 2;
  EXPECT_EQ(p.pair_gradients({&element, {0, 513 * 300, 300, 1}}), PairGradients::sums);
}

}  // namespace
}  // namespace flashmoe::test::ampere_backward_pairs_test

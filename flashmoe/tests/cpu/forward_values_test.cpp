// SPDX-License-Identifier: MIT
// Values that break careless kernels: huge logits, infinities, NaN, and keys that decide everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/deciding_key.h"
#include "support/problem.h"

namespace flashmoe::test::forward_values_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One row takes the path for few rows, many rows the tiled one; the last has more keys than any block and a
// split.
struct Lengths {
  int64_t q_rows, kv_rows;
};
constexpr Lengths kLengths[] = {{1, 1}, {1, 70}, {3, 300}, {40, 40}, {37, 300}, {70, 1100}, {1, 2500}};

class ValuesOfType : public testing::TestWithParam<DType> {
 protected:
  static Shape shape(Lengths lengths, Mask mask = Mask::none) {
    return {.q_heads = 2,
            .kv_heads = 1,
            .q_rows = lengths.q_rows,
            .kv_rows = lengths.kv_rows,
            .head_dim = 40,
            .dtype = GetParam(),
            .mask = mask};
  }
  static bool row_is_nan(const Problem& p, int64_t h, int64_t s) {
    for (int64_t d = 0; d < p.problem.head_dim; ++d) {
      if (!std::isnan(p.out(0, h, s, d))) return false;
    }
    return std::isnan(p.lse(0, h, s));
  }
};
INSTANTIATE_TEST_SUITE_P(All, ValuesOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(ValuesOfType, LogitsOfTenThousand) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      Shape huge = shape(lengths, mask);
      huge.spread = 100;
      Problem problem(huge);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, huge);
    }
  }
}

TEST_P(ValuesOfType, LogitsThatAreAllTenThousandOrMinusTenThousand) {
  for (Lengths lengths : kLengths) {
    for (float sign : {1.0F, -1.0F}) {
      Problem problem(shape(lengths, Mask::causal));
      problem.args.scale = 1.0F;
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 0, 100);
      for (int64_t s = 0; s < lengths.kv_rows; ++s) problem.set(problem.args.k, 0, 0, s, 0, sign * 100);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, Mask::causal)) << " sign " << sign;
    }
  }
}

// fp32 is finer than any weight needs at 1e4, coarse at 1e6, and far coarser than 1 at 1e12.
TEST_P(ValuesOfType, OneKeyThatDecidesGivesItsValueExactly) {
  for (Lengths lengths : kLengths) {
    for (float size : {1e4F, 1e6F, 1e9F, 1e12F, 1e36F}) {
      if (GetParam() == DType::fp16 && size > 6e4F) continue;
      for (int64_t key : {int64_t{0}, lengths.kv_rows / 2, lengths.kv_rows - 1}) {
        Problem problem(shape(lengths));
        set_deciding_key(problem, key, size);
        problem.run();
        EXPECT_EQ(trouble_with_deciding_key(problem, key), "")
            << describe(shape(lengths)) << " key " << key << " of " << size;
      }
      Problem equal(shape(lengths));
      set_equal_keys(equal, size);
      equal.run();
      EXPECT_EQ(trouble_with_equal_keys(equal), "") << describe(shape(lengths)) << " all keys " << size;
    }
  }
}

TEST_P(ValuesOfType, ARowThatSeesOneKeyGivesItsValueExactly) {
  for (int64_t rows : {1, 2, 5, 40}) {
    for (float spread : {1.0F, 30.0F}) {
      Shape one = shape({rows, 1});
      one.spread = spread;
      Problem problem(one);
      problem.run();
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < rows; ++s)
          for (int64_t d = 0; d < 40; ++d)
            ASSERT_EQ(problem.out(0, h, s, d), problem.get(problem.args.v, 0, 0, 0, d)) << describe(one);
    }
  }
}

// The maximum rises at every key: each step of an online softmax has to rescale.
TEST_P(ValuesOfType, LogitsThatRiseOrFallFromKeyToKey) {
  for (Lengths lengths : kLengths) {
    for (float step : {0.05F, 1.0F, -0.05F, -1.0F}) {
      Problem problem(shape(lengths));
      problem.args.scale = 1.0F;
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 3, 1);
      for (int64_t s = 0; s < lengths.kv_rows; ++s) {
        problem.set(problem.args.k, 0, 0, s, 3, step * static_cast<float>(s));
      }
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths)) << " step " << step;
    }
  }
}

// Each query row matches one key far better than all others, and that key lies past the row's mask. A kernel
// that lets one masked key through, or takes its maximum over masked keys, shows at once.
TEST_P(ValuesOfType, MaskedKeysWithTheLargestScores) {
  for (Lengths lengths : {Lengths{40, 40}, {70, 70}, {129, 129}, {37, 300}, {300, 37}, {7, 1100}}) {
    for (Mask mask : {Mask::causal, Mask::causal_top_left}) {
      const Shape masked = shape(lengths, mask);
      Problem problem(masked);
      problem.args.scale = 1.0F;
      // Scores rise steeply along the keys, so that the first masked key of each row beats all that it sees.
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 0, 4);
      for (int64_t s = 0; s < lengths.kv_rows; ++s) {
        problem.set(problem.args.k, 0, 0, s, 0, 16 * static_cast<float>(s));
        problem.set_row(problem.args.v, 0, 0, s, static_cast<float>(s % 97));
      }
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, masked);
    }
  }
}

// One key has all the weight: its V must come out, from wherever the key lies in blocks, panels and splits.
TEST_P(ValuesOfType, OneKeyWithAllTheWeightIsFoundAnywhere) {
  // A kernel may round the weight to bf16, but not the sum that it is divided by.
  const float off = GetParam() == DType::bf16 ? 0x1p-7F : 1e-6F;
  for (Lengths lengths : {Lengths{1, 70}, {40, 40}, {3, 1100}, {70, 1100}, {1, 2500}}) {
    for (int64_t needle :
         {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 255, 256, 257, 511, 512, 513, 1023, 1024, 1099, 2499}) {
      if (needle >= lengths.kv_rows) continue;
      Problem problem(shape(lengths));
      problem.args.scale = 1.0F;
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 39, 50);
      for (int64_t s = 0; s < lengths.kv_rows; ++s)
        problem.set(problem.args.k, 0, 0, s, 39, s == needle ? 50 : -50);
      problem.run();
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s)
          for (int64_t d = 0; d < 40; ++d) {
            const float v = problem.get(problem.args.v, 0, 0, needle, d);
            ASSERT_NEAR(problem.out(0, h, s, d), v, std::abs(v) * off)
                << describe(shape(lengths)) << " key " << needle << " row " << s << " element " << d;
          }
    }
  }
}

TEST_P(ValuesOfType, ANaNInKSpoilsTheRowsThatSeeItAndNoOther) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      for (int64_t key : {int64_t{0}, lengths.kv_rows / 2, lengths.kv_rows - 1}) {
        Problem problem(shape(lengths, mask));
        problem.set(problem.args.k, 0, 0, key, 17, kNaN);
        problem.run();
        EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, mask)) << " key " << key;
        for (int64_t s = 0; s < lengths.q_rows; ++s) {
          ASSERT_EQ(row_is_nan(problem, 1, s), key < problem.problem.visible(s).end)
              << describe(shape(lengths, mask)) << " key " << key << " row " << s;
        }
      }
    }
  }
}

TEST_P(ValuesOfType, ANaNInQSpoilsItsRowAlone) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      const int64_t row = lengths.q_rows - 1;
      Problem problem(shape(lengths, mask));
      problem.set(problem.args.q, 0, 1, row, 0, kNaN);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, mask));
      EXPECT_TRUE(row_is_nan(problem, 1, row)) << describe(shape(lengths, mask));
      EXPECT_FALSE(row_is_nan(problem, 0, row)) << describe(shape(lengths, mask));
    }
  }
}

// NaN * 0 is NaN: a masked key's V must not be multiplied at all.
TEST_P(ValuesOfType, ANaNInVSpoilsOneElementOfTheRowsThatSeeIt) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      for (int64_t key : {int64_t{0}, lengths.kv_rows / 2, lengths.kv_rows - 1}) {
        Problem problem(shape(lengths, mask));
        problem.set(problem.args.v, 0, 0, key, 17, kNaN);
        problem.run();
        EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, mask)) << " key " << key;
      }
    }
  }
}

TEST_P(ValuesOfType, InfinityInVReachesTheRowsThatSeeIt) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      Problem problem(shape(lengths, mask));
      problem.set(problem.args.v, 0, 0, lengths.kv_rows - 1, 0, kInf);
      problem.set(problem.args.v, 0, 0, 0, 1, -kInf);
      problem.set(problem.args.v, 0, 0, 0, 2, -kInf);
      problem.set(problem.args.v, 0, 0, lengths.kv_rows - 1, 2, kInf);  // both: NaN where both are seen
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, mask));
    }
  }
}

TEST_P(ValuesOfType, APlusInfiniteScoreGivesNaN) {
  for (Lengths lengths : kLengths) {
    for (int64_t key : {int64_t{0}, lengths.kv_rows / 2, lengths.kv_rows - 1}) {
      Problem problem(shape(lengths, Mask::causal));
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 5, 1);
      problem.set(problem.args.k, 0, 0, key, 5, kInf);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, Mask::causal)) << " key " << key;
      EXPECT_TRUE(row_is_nan(problem, 0, lengths.q_rows - 1)) << describe(shape(lengths)) << " key " << key;
    }
  }
}

TEST_P(ValuesOfType, KeysAtMinusInfinityHaveNoWeight) {
  for (Lengths lengths : kLengths) {
    for (Mask mask : kMasks) {
      Problem problem(shape(lengths, mask));
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 5, 1);
      // Whole blocks of them, at the start too: the running maximum stays at -inf for long.
      for (int64_t s = 0; s < lengths.kv_rows; ++s) {
        if (s < lengths.kv_rows * 2 / 3 || s % 3 == 0) problem.set(problem.args.k, 0, 0, s, 5, -kInf);
      }
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths, mask));
    }
  }
}

TEST_P(ValuesOfType, ARowWhoseScoresAreAllMinusInfinityGivesZero) {
  for (Lengths lengths : kLengths) {
    Problem problem(shape(lengths));
    for (int64_t s = 0; s < lengths.kv_rows; ++s) problem.set(problem.args.k, 0, 0, s, 5, -kInf);
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 5, 1);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths));
    EXPECT_EQ(problem.lse(0, 1, lengths.q_rows - 1), -kInf);
    EXPECT_EQ(problem.out(0, 1, lengths.q_rows - 1, 0), 0.0F);
  }
}

TEST_P(ValuesOfType, ANaNIsNotLostAmongMinusInfinities) {
  for (Lengths lengths : kLengths) {
    for (int64_t key : {int64_t{0}, lengths.kv_rows / 2, lengths.kv_rows - 1}) {
      Problem problem(shape(lengths));
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t s = 0; s < lengths.q_rows; ++s) problem.set(problem.args.q, 0, h, s, 5, 1);
      for (int64_t s = 0; s < lengths.kv_rows; ++s)
        problem.set(problem.args.k, 0, 0, s, 5, s == key ? kNaN : -kInf);
      problem.run();
      EXPECT_TRUE(row_is_nan(problem, 0, 0)) << describe(shape(lengths)) << " key " << key;
    }
  }
}

TEST_P(ValuesOfType, TinyValuesKeepTheirPrecision) {
  const float tiny = GetParam() == DType::fp16   ? 0x1p-20F    // subnormal
                     : GetParam() == DType::fp32 ? 0x1p-126F   // at the edge
                                                 : 0x1p-110F;  // bf16 subnormals may count as zero
  for (Lengths lengths : kLengths) {
    Problem problem(shape(lengths));
    for (int64_t s = 0; s < lengths.kv_rows; ++s)
      for (int64_t d = 0; d < 40; ++d) {
        problem.set(problem.args.v, 0, 0, s, d, tiny * problem.get(problem.args.v, 0, 0, s, d));
      }
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths));
  }
}

TEST_P(ValuesOfType, EqualValuesComeOutUnchanged) {
  for (Lengths lengths : kLengths) {
    Problem problem(shape(lengths, Mask::causal_top_left));
    for (int64_t s = 0; s < lengths.kv_rows; ++s) problem.set_row(problem.args.v, 0, 0, s, 0.75F);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape(lengths));
  }
}

// A sum of so many equal terms, one after the other, is rounded the same way over and over.
TEST(LongSums, StayExactInFp32) {
  for (int64_t q_rows : {1, 24}) {
    const Shape shape{.q_rows = q_rows, .kv_rows = 100'000, .head_dim = 16, .dtype = DType::fp32};
    Problem problem(shape);
    for (int64_t s = 0; s < shape.kv_rows; ++s) problem.set_row(problem.args.v, 0, 0, s, 0.1F);
    problem.run();
    for (int64_t s = 0; s < q_rows; ++s)
      for (int64_t d = 0; d < 16; ++d)
        ASSERT_NEAR(problem.out(0, 0, s, d), 0.1F, 3e-6F * 0.1F) << describe(shape);
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_values_test

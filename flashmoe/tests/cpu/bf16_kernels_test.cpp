// SPDX-License-Identifier: MIT
// What every bf16 kernel promises, on any number of rows, whatever the driver would give it: those of this
// CPU, and the AVX-512 one in plain loops on any.
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <random>
#include <string>

#include "cpu/avx512_bf16-inl.h"
#include "cpu/avx512_bf16.h"
#include "cpu/bf16_run_kernel.h"
#include "cpu/neon_bf16.h"
#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test::bf16_kernels_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Candidate {
  const char* name;
  const cpu::Kernel* (*kernel)();  // null where it can't run
  const char* needs;
};

void PrintTo(const Candidate& candidate, std::ostream* to) { *to << candidate.name; }

const cpu::Kernel* neon_kernel([[maybe_unused]] bool rows) {
#ifdef FLASHMOE_NEON_BF16
  if (cpu::neon_bf16_supported()) return rows ? &cpu::neon_bf16_rows_kernel() : &cpu::neon_bf16_kernel();
#endif
  return nullptr;
}

const cpu::Kernel* avx512_in_plain_loops() {
  using Ops = cpu::avx512_bf16::Ops;
  static constexpr cpu::Kernel kernel{.name = "plain loops",
                                      .reason = "under test",
                                      .attend = cpu::attend_tiled<Ops>,
                                      .scratch_bytes = cpu::tiled_scratch_bytes<Ops>,
                                      .panel_rows = cpu::avx512_bf16::kPanelRows,
                                      .packing_rows = 0};
  return &kernel;
}

class Bf16Kernel : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override {
    if (GetParam().kernel() == nullptr) GTEST_SKIP() << "needs " << GetParam().needs;
  }

  static const cpu::Kernel& kernel() { return *GetParam().kernel(); }

  static void expect_agrees(const Shape& shape, Split split = {}) {
    Problem problem(shape);
    run_kernel(kernel(), problem, split);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
};

TEST_P(Bf16Kernel, AgreesForEveryHeadDim) {
  for (int64_t dim = 1; dim <= 256; dim += dim < 20 ? 1 : 13) {
    expect_agrees({.q_rows = 19, .kv_rows = 41, .head_dim = dim, .dtype = DType::bf16});
  }
}

TEST_P(Bf16Kernel, AgreesForAwkwardLengths) {
  const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 11, 12, 13, 31, 33, 127, 257};
  for (int64_t q_rows : sizes)
    for (int64_t kv_rows : sizes)
      for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
        expect_agrees(
            {.q_rows = q_rows, .kv_rows = kv_rows, .head_dim = 24, .dtype = DType::bf16, .mask = mask});
      }
}

TEST_P(Bf16Kernel, AgreesForGroupsStridesAndSplits) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const uint64_t cases = number_from("FLASHMOE_SWEEP", 120);
  for (uint64_t i = 0; i < cases; ++i) {
    const int64_t kv_heads = pick(1, 2);
    const Shape shape{.batch = pick(1, 2),
                      .q_heads = kv_heads * pick(1, 5),
                      .kv_heads = kv_heads,
                      .q_rows = pick(1, 70),
                      .kv_rows = pick(1, 600),
                      .head_dim = pick(1, 140),
                      .dtype = DType::bf16,
                      .mask = static_cast<Mask>(pick(0, 2)),
                      .layout = static_cast<Layout>(pick(0, 2)),
                      .spread = pick(0, 3) == 0 ? 10.0F : 1.0F,
                      .seed = i};
    expect_agrees(shape, {.rows = pick(1, 100), .keys = pick(0, 1) == 0 ? 1 << 30 : pick(1, 400)});
  }
}

TEST_P(Bf16Kernel, AgreesUnderWindows) {
  std::mt19937 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const uint64_t cases = number_from("FLASHMOE_SWEEP", 200);
  for (uint64_t i = 0; i < cases; ++i) {
    const int64_t left = pick(0, 5) == 0 ? Window::kUnlimited : pick(0, i % 2 == 0 ? 20 : 400);
    const int64_t right = pick(0, 5) == 0 ? Window::kUnlimited : pick(0, i % 3 == 0 ? 5 : 300);
    const Shape shape{.q_heads = pick(1, 3),
                      .q_rows = pick(1, 200),
                      .kv_rows = pick(1, 600),
                      .head_dim = pick(1, 100),
                      .dtype = DType::bf16,
                      .mask = static_cast<Mask>(pick(0, 2)),
                      .window = {left, right},
                      .seed = i};
    expect_agrees(shape, {.rows = pick(1, 200), .keys = pick(0, 1) == 0 ? 1 << 30 : pick(1, 400)});
  }
}

TEST_P(Bf16Kernel, KeysOutsideAWindowDoNotTouchARowWhateverTheyHold) {
  for (const int64_t key : {3, 33, 49}) {
    const Shape shape{.q_heads = 2, .q_rows = 50, .kv_rows = 50, .dtype = DType::bf16, .window = {7, 4}};
    Problem problem(shape);
    for (int64_t d = 0; d < shape.head_dim; ++d) {
      problem.set(problem.args.k, 0, 0, key, d, kNaN);
      problem.set(problem.args.v, 0, 0, key, d, d % 2 == 0 ? kNaN : kInfinity);
    }
    run_kernel(kernel(), problem);
    EXPECT_AGREES_WITH_ORACLE(problem, shape) << "key " << key;
    for (int64_t row = 0; row < 50; ++row)
      EXPECT_EQ(std::isnan(problem.out(0, 0, row, 0)), row - 7 <= key && key <= row + 4) << row;
  }
}

TEST_P(Bf16Kernel, AgreesForHugeLogits) {
  for (float spread : {30.0F, 100.0F, 3000.0F, 1e6F}) {
    expect_agrees({.q_rows = 40, .kv_rows = 300, .dtype = DType::bf16, .spread = spread});
    expect_agrees(
        {.q_rows = 40, .kv_rows = 300, .dtype = DType::bf16, .mask = Mask::causal, .spread = spread});
  }
}

TEST_P(Bf16Kernel, AgreesForScalesOfAnySign) {
  for (float scale : {-0.3F, 0.0F, 1e-30F, 2.0F}) {
    const Shape shape{.q_rows = 30, .kv_rows = 50, .dtype = DType::bf16};
    Problem problem(shape);
    problem.args.scale = scale;
    problem.problem.scale = scale;
    run_kernel(kernel(), problem);
    EXPECT_AGREES_WITH_ORACLE(problem, shape) << "scale " << scale;
  }
}

// Each block raises the row maxima by far more than the kernel lets pass without rescaling.
TEST_P(Bf16Kernel, AgreesWhenScoresGrowAlongTheKeys) {
  const Shape shape{.q_rows = 30, .kv_rows = 1500, .head_dim = 16, .dtype = DType::bf16};
  Problem problem(shape);
  for (int64_t i = 0; i < shape.q_rows; ++i)
    problem.set(problem.args.q, 0, 0, i, 0, i % 2 == 0 ? 4.0F : -4.0F);
  for (int64_t j = 0; j < shape.kv_rows; ++j)
    problem.set(problem.args.k, 0, 0, j, 0, 0.1F * static_cast<float>(j));
  run_kernel(kernel(), problem);
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

TEST_P(Bf16Kernel, NonFiniteScoresBehaveAsInTheOracle) {
  for (float value : {kInfinity, -kInfinity, kNaN}) {
    for (int64_t key : {0, 5, 299}) {
      for (Mask mask : {Mask::none, Mask::causal}) {
        const Shape shape{.q_rows = 40, .kv_rows = 300, .dtype = DType::bf16, .mask = mask};
        Problem problem(shape);
        problem.set(problem.args.k, 0, 0, key, 3, value);
        problem.set(problem.args.q, 0, 0, 17, 9, value);
        run_kernel(kernel(), problem);
        EXPECT_AGREES_WITH_ORACLE(problem, shape) << value << " at key " << key;
      }
    }
  }
}

TEST_P(Bf16Kernel, MaskedKeysDoNotTouchARowWhateverTheyHold) {
  for (int64_t group : {1, 4, 16}) {
    const Shape shape{
        .q_heads = group, .q_rows = 50, .kv_rows = 50, .dtype = DType::bf16, .mask = Mask::causal};
    Problem problem(shape);
    for (int64_t d = 0; d < shape.head_dim; ++d) {
      problem.set(problem.args.k, 0, 0, 33, d, kNaN);
      problem.set(problem.args.v, 0, 0, 33, d, d % 2 == 0 ? kNaN : kInfinity);
    }
    run_kernel(kernel(), problem);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
    EXPECT_FALSE(std::isnan(problem.out(0, 0, 32, 0)));
    EXPECT_TRUE(std::isnan(problem.out(0, 0, 33, 0)));
  }
}

TEST_P(Bf16Kernel, RowsWhoseScoresAreAllMinusInfinityGiveZeros) {
  const Shape shape{.q_rows = 20, .kv_rows = 30, .head_dim = 8, .dtype = DType::bf16};
  Problem problem(shape);
  for (int64_t d = 0; d < 8; ++d) problem.set(problem.args.q, 0, 0, 4, d, d == 0 ? -kInfinity : 0.0F);
  for (int64_t j = 0; j < 30; ++j) problem.set(problem.args.k, 0, 0, j, 0, 1.0F);
  run_kernel(kernel(), problem);
  for (int64_t d = 0; d < 8; ++d) EXPECT_EQ(problem.out(0, 0, 4, d), 0.0F);
  EXPECT_EQ(problem.lse(0, 0, 4), -kInfinity);
}

INSTANTIATE_TEST_SUITE_P(
    All, Bf16Kernel,
    testing::Values(Candidate{"neon_tiled", [] { return neon_kernel(false); }, "BFMMLA (HWCAP2_BF16)"},
                    Candidate{"neon_rows", [] { return neon_kernel(true); }, "BFMMLA (HWCAP2_BF16)"},
                    Candidate{"avx512", cpu::avx512_bf16_kernel, "AVX512-BF16"},
                    Candidate{"avx512_in_plain_loops", avx512_in_plain_loops, ""}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace flashmoe::test::bf16_kernels_test

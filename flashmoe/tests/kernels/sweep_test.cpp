// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/on_model.h"
#include "kernels/random_case.h"

namespace flashmoe::test::sweep_test {
namespace {

class ModelSweep : public testing::TestWithParam<int> {};

constexpr int kShares = 6;

// FLASHMOE_SWEEP random cases, or 120. Each parameter is a share of them, so that shares run side by side.
TEST_P(ModelSweep, RandomShapesAgreeWithTheOracle) {
  const char* wish = std::getenv("FLASHMOE_SWEEP");
  const int cases = wish != nullptr ? std::atoi(wish) : 120;
  for (int i = GetParam(); i < cases; i += kShares) {
    const auto seed = static_cast<uint64_t>(i);
    const RandomCase c = random_case(seed);
    Problem problem(c.shape);
    try {
      run_on_model(problem,
                   {.choice = c.choice,
                    .settings = {.seed = seed % 5,
                                 .copies = seed % 2 ? model::CopyTime::late : model::CopyTime::early}});
      EXPECT_EQ(problem.disagreement(), "") << describe(c);
    } catch (const std::exception& error) {
      ADD_FAILURE() << describe(c) << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Share, ModelSweep, testing::Range(0, kShares));

}  // namespace
}  // namespace flashmoe::test::sweep_test

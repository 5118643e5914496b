// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/on_model.h"
#include "kernels/random_case.h"

namespace flashmoe::test {
namespace {

class ModelSweep : public testing::TestWithParam<int> {};

// Each parameter is a share of the cases, so that shares run side by side.
TEST_P(ModelSweep, RandomShapesAgreeWithTheOracle) {
  for (int i = 0; i < 40; ++i) {
    const auto seed = static_cast<uint64_t>(GetParam() * 40 + i);
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

INSTANTIATE_TEST_SUITE_P(Share, ModelSweep, testing::Range(0, 6));

}  // namespace
}  // namespace flashmoe::test

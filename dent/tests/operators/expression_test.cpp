// SPDX-License-Identifier: MIT
#include "operators/expression.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dent::expression_test {
namespace {

const Numbers kSizes{{"B", 2}, {"S", 128}, {"D", 64}};

TEST(Expression, FollowsTheUsualPrecedence) {
  EXPECT_EQ(evaluate("1 + 2 * 3", {}), 7);
  EXPECT_EQ(evaluate("(1 + 2) * 3", {}), 9);
  EXPECT_EQ(evaluate("-2 - -3", {}), 1);
  EXPECT_EQ(evaluate("7 % 4 / 2", {}), 1.5);
}

TEST(Expression, KnowsSizesAndFunctions) {
  EXPECT_EQ(evaluate("4*B*S*S*D", kSizes), 4.0 * 2 * 128 * 128 * 64);
  EXPECT_EQ(evaluate("min(S, D) + max(1, B)", kSizes), 66);
  EXPECT_EQ(evaluate("ceil(S/100) + floor(2.9)", kSizes), 4);
  EXPECT_EQ(evaluate("log2(S) * sqrt(D)", kSizes), 56);
}

TEST(Expression, NamesWhatItDoesNotKnow) {
  try {
    evaluate("4*B*H", kSizes);
    FAIL() << "H is unknown";
  } catch (const Error& problem) {
    const std::string text = problem.what();
    EXPECT_NE(text.find("unknown name H"), std::string::npos) << text;
    EXPECT_NE(text.find("B, D, S"), std::string::npos) << text;
  }
}

TEST(Expression, RefusesWhatIsNoExpression) {
  for (const char* text : {"", "1 +", "(1", "2 3", "max(1)", "spread(1)", "1..2", "*4"}) {
    EXPECT_THROW(evaluate(text, kSizes), Error) << text;
  }
}

TEST(Expression, ListsItsNames) {
  EXPECT_EQ(names_in("4*B*max(S, 1e3)"), (std::vector<std::string>{"B", "S"}));
}

}  // namespace
}  // namespace dent::expression_test

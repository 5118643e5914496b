// SPDX-License-Identifier: MIT
// Answers as programs write them.
#include "loop/proposers/answer.h"

#include <gtest/gtest.h>

namespace dent::answer_test {
namespace {

TEST(Answer, IsReadWithPatience) {
  const auto answer = find_answer(
      R"({"change": 3, "phase": ["x"], "tunable": "WARPS", "value": 4, "usd": "much", "input_tokens": 5e3,
          "variant": null, "files": null, "done": "no", "speedup": 100})");
  ASSERT_TRUE(answer);
  const Proposal proposal = proposal_of(*answer);
  EXPECT_EQ(proposal.refusal, "");
  EXPECT_EQ(proposal.hypothesis.change, "3");
  EXPECT_EQ(proposal.phase, Phase::tuning);
  ASSERT_TRUE(proposal.assignment);
  EXPECT_EQ(proposal.assignment->value, "4");
  EXPECT_FALSE(proposal.variant);
  EXPECT_FALSE(proposal.source);
  EXPECT_EQ(proposal.spend.usd, 0);
  EXPECT_EQ(proposal.spend.input_tokens, 5000);
  EXPECT_FALSE(proposal.done);
}

TEST(Answer, MayHaveItsHypothesisInAnObject) {
  const auto answer =
      find_answer(R"({"change": "flat", "hypothesis": {"change": "inner", "expected": "2x"}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->hypothesis.change, "inner");
  EXPECT_EQ(answer->hypothesis.expected, "2x");
}

TEST(Answer, IsTheLastObjectOfWhatWasSaid) {
  EXPECT_EQ(find_answer("{draft}\n{\"change\": \"a\"}\nthen\n{\"change\": \"b\"}\nso\n")->hypothesis.change,
            "b");
  EXPECT_FALSE(find_answer("I made it faster"));
  EXPECT_FALSE(find_answer("[1, 2]"));
  EXPECT_FALSE(find_answer(""));
}

TEST(Answer, FilesAreAListOfPaths) {
  EXPECT_NE(
      proposal_of(*find_answer(R"({"files": ["a.cpp", 1]})")).refusal.find("files must be a list of paths"),
      std::string::npos);
  const Proposal proposal = proposal_of(*find_answer(R"({"files": ["a.cpp"], "patch": "p"})"));
  ASSERT_TRUE(proposal.source);
  EXPECT_EQ(proposal.source->files, std::vector<std::string>{"a.cpp"});
  EXPECT_EQ(proposal.source->patch, "p");
}

TEST(Answer, AmountsAreNeitherNegativeNorEndless) {
  const Proposal proposal =
      proposal_of(*find_answer(R"({"usd": -5, "input_tokens": 1e300, "output_tokens": -1})"));
  EXPECT_EQ(proposal.spend.usd, 0);
  EXPECT_EQ(proposal.spend.input_tokens, std::int64_t{1} << 53);
  EXPECT_EQ(proposal.spend.output_tokens, 0);
}

}  // namespace
}  // namespace dent::answer_test

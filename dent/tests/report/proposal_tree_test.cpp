// SPDX-License-Identifier: MIT
#include "report/proposal_tree.h"

#include <gtest/gtest.h>

namespace dent::proposal_tree_test {
namespace {

ClimbStep tried(int number, std::optional<bool> kept, const std::string& change) {
  ClimbStep step;
  step.iteration.iteration = number;
  step.iteration.proposal.hypothesis.change = change;
  if (kept) {
    step.outcome.emplace();
    step.outcome->iteration = number;
    step.outcome->outcome.kept = *kept;
  }
  return step;
}

TEST(ProposalTree, DroppedChangesHangWhereTheyWereTried) {
  ClimbView climb;
  EXPECT_EQ(proposal_tree(climb), "");
  climb.steps = {tried(1, false, "a"), tried(2, true, "b"), tried(3, false, "c"),
                 tried(4, std::nullopt, "d")};
  const std::string tree = proposal_tree(climb);
  const auto at = [&tree](const std::string& words) {
    const std::size_t found = tree.find(words);
    EXPECT_NE(found, std::string::npos) << words << " in " << tree;
    return found;
  };
  EXPECT_LT(at("the start"), at("001 dropped"));
  EXPECT_LT(at("001 dropped"), at("002 kept"));
  EXPECT_LT(at("</ul>"), at("002 kept")) << "the second is on the trunk";
  EXPECT_LT(at("002 kept"), at("003 dropped"));
  EXPECT_LT(at("003 dropped"), at("004 in trial"));
}

TEST(ProposalTree, TextOfACandidateIsEscaped) {
  ClimbView climb;
  climb.steps = {tried(1, true, "<script>x</script>")};
  climb.steps.front().diff = "+<img src=x>\n-a & b\n";
  const std::string tree = proposal_tree(climb);
  EXPECT_EQ(tree.find("<script>"), std::string::npos);
  EXPECT_NE(tree.find("<span class=\"added\">+&lt;img src=x&gt;</span>"), std::string::npos) << tree;
  EXPECT_NE(tree.find("<span class=\"removed\">-a &amp; b</span>"), std::string::npos) << tree;
}

TEST(ProposalTree, ALongDiffIsCutAndSaysSo) {
  const std::string markup = diff_markup(std::string(50000, 'x') + "\n");
  EXPECT_LT(markup.size(), 45000U);
  EXPECT_NE(markup.find("10001 bytes more"), std::string::npos);
}

}  // namespace
}  // namespace dent::proposal_tree_test

// SPDX-License-Identifier: MIT
// Proposers over tunables and variants, on kernels whose speed is a formula.
#include "loop/search/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "loop/proposers/patterns_proposer.h"
#include "loop/proposers/variants.h"
#include "loop/search/prune.h"
#include "loop/search/surrogate.h"
#include "project/choice.h"
#include "project/manifest.h"

namespace dent::search_test {
namespace {

const std::string kManifest =
    "version = 1\n"
    "shapes = [{ name = \"tiny\", n = 4 }]\n"
    "[kernel]\nsources = [\"k.cpp\"]\nentry = \"f\"\n"
    "[baseline.b]\nsources = [\"b.cpp\"]\nentry = \"f\"\n"
    "[operator]\nname = \"op\"\ninputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
    "reference = { source = \"r.cpp\", entry = \"f\" }\n";

const std::string kLadder =
    "[[variants]]\nname = \"split\"\nphase = \"parallelism\"\n"
    "[[variants]]\nname = \"vector\"\nphase = \"compute\"\nsources = [\"v.cpp\"]\n"
    "[[variants]]\nname = \"wide\"\nphase = \"parallelism\"\n";

Project project_with(const std::string& more) { return parse_project(kManifest + more, "/nowhere"); }

double number(const Project& project, const Choice& choice, const std::string& name) {
  for (const Tunable& tunable : project.tunables) {
    if (tunable.name == name) return std::stod(value_of(tunable, choice));
  }
  throw std::runtime_error(name);
}

// Runs a loop in which the speed of a choice is a function, without noise.
struct Climb {
  Choice incumbent;
  double speed;
  int tries = 0;
};
template <class Speed>
Climb climb(const Project& project, Proposer& proposer, int budget, const Speed& speed) {
  Brief brief;
  brief.project = &project;
  brief.phase = Phase::tuning;
  Climb now{{}, speed(Choice{})};
  for (; now.tries < budget; ++now.tries) {
    brief.incumbent = now.incumbent;
    const auto proposal = proposer.propose(brief);
    if (!proposal) break;
    EXPECT_EQ(what_is_wrong(*proposal, project, now.incumbent), "");
    const Choice choice = applied(*proposal, now.incumbent);
    const double tried = speed(choice), gain = tried / now.speed;
    Outcome outcome;
    outcome.kept = gain >= 1.01;
    outcome.gain = Ratio{gain, {gain, gain}};
    brief.history.push_back({now.tries + 1, *proposal, outcome, choice});
    if (outcome.kept) now = {choice, tried, now.tries};
  }
  return now;
}

const std::string kSpace =
    "[tunables]\nA = { from = 1, to = 16 }\nB = { from = 1, to = 256, times = 2 }\nC = [1, 2, 3, 4]\n";

double hill(const Project& project, const Choice& choice) {
  const double a = number(project, choice, "A"), b = std::log2(number(project, choice, "B")),
               c = number(project, choice, "C");
  return std::exp(-0.02 * (a - 11) * (a - 11) - 0.05 * (b - 5) * (b - 5) + 0.1 * c);
}

TEST(Search, FindsTheTopInATenthOfTheSpace) {
  const Project project = project_with(kSpace);
  SearchProposer search;
  const Climb end = climb(project, search, 40, [&](const Choice& c) { return hill(project, c); });
  EXPECT_GT(end.speed, 0.97 * std::exp(0.4)) << describe(end.incumbent);
}

TEST(Search, IsBetterThanRandomAtTheSameBudget) {
  const Project project = project_with(kSpace);
  SearchProposer search;
  const Climb guided = climb(project, search, 20, [&](const Choice& c) { return hill(project, c); });
  std::mt19937 random(7);
  int better = 0;
  for (int trial = 0; trial < 100; ++trial) {
    double best = 0;
    for (int i = 0; i < 20; ++i) {
      Choice choice;
      for (const Tunable& t : project.tunables)
        choice.tunables[t.name] = t.values[random() % t.values.size()];
      best = std::max(best, hill(project, choice));
    }
    better += guided.speed >= best ? 1 : 0;
  }
  EXPECT_GE(better, 80);
}

TEST(Search, TriesNothingThatBreaksAConstraintOrCantRun) {
  const Project project = project_with(kSpace + "[optimize]\nconstraints = [\"A*B <= 64\"]\n");
  SearchProposer search([](const Brief& brief, const Choice& c) {
    return number(*brief.project, c, "C") == 4 ? std::string("too many registers") : std::string();
  });
  climb(project, search, 60, [&](const Choice& choice) {
    EXPECT_LE(number(project, choice, "A") * number(project, choice, "B"), 64);
    EXPECT_NE(number(project, choice, "C"), 4);
    return hill(project, choice);
  });
}

// Several at a time: what is being tried is not proposed again, and who is asked twice answers the same.
TEST(Search, ProposesSomethingElseThanWhatIsBeingTried) {
  const Project project = project_with("[tunables]\nA = [1, 2, 3]\nB = [1, 2]\n" + kLadder);
  SearchProposer search;
  VariantsProposer variants;
  for (Proposer* proposer : {static_cast<Proposer*>(&search), static_cast<Proposer*>(&variants)}) {
    Brief brief;
    brief.project = &project;
    brief.phase = proposer->name() == "search" ? Phase::tuning : Phase::parallelism;
    std::vector<Choice> proposed;
    for (;;) {
      const auto proposal = proposer->propose(brief);
      if (!proposal) break;
      const Choice choice = applied(*proposal, brief.incumbent);
      EXPECT_EQ(applied(*proposer->propose(brief), brief.incumbent), choice);
      EXPECT_EQ(std::count(proposed.begin(), proposed.end(), choice), 0) << describe(choice);
      proposed.push_back(choice);
      brief.pending.push_back({static_cast<int>(proposed.size()), *proposal, {}, choice});
      ASSERT_LT(proposed.size(), 10U);
    }
    EXPECT_EQ(proposed.size(), proposer->name() == "search" ? 3U : 2U);
  }
}

TEST(Search, EndsWhenEverythingWasTried) {
  const Project project = project_with("[tunables]\nA = [1, 2, 3]\n");
  SearchProposer search;
  const Climb end = climb(project, search, 50, [](const Choice&) { return 1.0; });
  EXPECT_EQ(end.tries, 2);
}

TEST(Search, AChoiceThatFailsIsNotTriedAgain) {
  const Project project = project_with("[tunables]\nA = [1, 2, 3, 4]\n");
  SearchProposer search;
  Brief brief;
  brief.project = &project;
  brief.phase = Phase::tuning;
  std::set<std::string> seen;
  while (const auto proposal = search.propose(brief)) {
    EXPECT_TRUE(seen.insert(proposal->assignment->value).second) << proposal->assignment->value;
    Outcome outcome;
    outcome.stage = TrialStage::build;
    brief.history.push_back({1, *proposal, outcome, applied(*proposal, {})});
  }
  EXPECT_FALSE(seen.empty());
}

// A block that does not fit, and one whose grid leaves the chip idle beyond what the incumbent takes.
TEST(Search, ForeseesWhatCantRunAndWhatCantWin) {
  const Project project = parse_project(
      "version = 1\nshapes = [{ name = \"medium\", S = 4096, H = 16 }]\n"
      "[kernel]\nsources = [\"k.cu\"]\nentry = \"f\"\n"
      "launch = { grid = \"ceil(S/ROWS)\", block = \"128\", smem = \"ROWS*1024\", gpu = \"H200\" }\n"
      "[baseline.b]\nsources = [\"b.cu\"]\nentry = \"f\"\n"
      "[operator]\nkind = \"attention.forward\"\ndtype = \"fp16\"\n"
      "[tunables]\nROWS = { values = [16, 64, 128, 512], start = 64 }\n",
      "/nowhere");
  Brief brief;
  brief.project = &project;
  const auto rows = [](const char* value) { return Choice{"", {{"ROWS", value}}}; };
  EXPECT_NE(foreseen_failure(brief, rows("512")).find("shared memory"), std::string::npos)
      << foreseen_failure(brief, rows("512"));
  EXPECT_EQ(foreseen_failure(brief, rows("16")), "");
  brief.shapes = {{project.shapes.front(), 1e9, 1.0}};  // an incumbent that nothing can beat
  EXPECT_NE(foreseen_failure(brief, rows("16")).find("at least"), std::string::npos);
}

TEST(Patterns, TakeTheVariantOrTheTunableThatIsTheirFix) {
  const Project project = project_with(kLadder + "[tunables]\nKV_SPLITS = [1, 2, 4]\n");
  Brief brief;
  brief.project = &project;
  brief.diagnosis.emplace();
  brief.diagnosis->finding.says = "2 CTAs on 132 SMs";
  record::PatternHint unknown, split;
  unknown.pattern = "unknown-here";
  unknown.variants = {"nowhere"};
  unknown.tunable = record::PatternTunable{{"none"}, "up"};
  split.pattern = "kv-split";
  split.phase = "parallelism";
  split.expected_gain = 2;
  split.variants = {"Split"};
  split.tunable = record::PatternTunable{{"kv-splits"}, "up"};
  brief.diagnosis->patterns = {unknown, split};
  PatternsProposer proposer;
  std::vector<std::string> order;
  while (const auto proposal = proposer.propose(brief)) {
    EXPECT_EQ(proposal->pattern, "kv-split");
    EXPECT_EQ(proposal->hypothesis.bottleneck, "2 CTAs on 132 SMs");
    order.push_back(proposal->variant ? *proposal->variant : proposal->assignment->value);
    ASSERT_LE(order.size(), 3U);
    Outcome outcome;
    outcome.kept = order.size() == 1;
    brief.history.push_back({1, *proposal, outcome, applied(*proposal, brief.incumbent)});
    if (outcome.kept) brief.incumbent = applied(*proposal, brief.incumbent);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"split", "2", "4"}));  // two losses in a row wear it out
}

TEST(Surrogate, PassesThroughWhatWasMeasuredAndIsUnsureFarAway) {
  const Surrogate model({{0.0}, {0.5}}, std::vector<double>{0.0, 0.3}, {true});
  EXPECT_NEAR(model.predict({0.5}).mean, 0.3, 0.02);
  EXPECT_LT(model.predict({0.5}).deviation, 0.03);
  EXPECT_GT(model.predict({1.0}).deviation, model.predict({0.25}).deviation);
  EXPECT_GT(expected_improvement({0.3, 0.1}, 0.2), expected_improvement({0.3, 0.1}, 0.4));
}

TEST(Variants, AreTriedOnceEachInTheOrderOfAttack) {
  const Project project = project_with(kLadder);
  std::vector<std::unique_ptr<Proposer>> list;
  list.push_back(std::make_unique<VariantsProposer>());
  ByPhase proposer(std::move(list));
  Brief brief;
  brief.project = &project;
  std::vector<std::string> order;
  while (const auto proposal = proposer.propose(brief)) {
    order.push_back(*proposal->variant);
    ASSERT_LE(order.size(), 3U);
    brief.history.push_back({1, *proposal, {}, applied(*proposal, {})});
  }
  EXPECT_EQ(order, (std::vector<std::string>{"split", "wide", "vector"}));
  brief.history.clear();
  brief.phase = Phase::compute;  // the diagnosis points there
  EXPECT_EQ(proposer.propose(brief)->variant, "vector");
  brief.phase = Phase::tuning;  // no single bottleneck: there are rungs to try before the last per cents
  EXPECT_EQ(proposer.propose(brief)->variant, "split");
  brief.incumbent.variant = "wide";  // nobody climbs down
  EXPECT_FALSE(proposer.propose(brief));
}

TEST(ByPhase, TriesTheNextRungBeforeTunablesWhenNothingStandsOut) {
  const Project project = project_with(
      "[[variants]]\nname = \"split\"\nphase = \"parallelism\"\n"
      "[[variants]]\nname = \"vector\"\nphase = \"compute\"\n"
      "[tunables]\nT = { values = [1, 2], phase = \"parallelism\" }\n");
  std::vector<std::unique_ptr<Proposer>> list;
  list.push_back(std::make_unique<VariantsProposer>());
  list.push_back(std::make_unique<SearchProposer>());
  ByPhase proposer(std::move(list));
  Brief brief;
  brief.project = &project;
  brief.incumbent.variant = brief.first.variant = "split";
  brief.phase = Phase::parallelism;  // the diagnosis asks for it: the tunable of that phase
  EXPECT_TRUE(proposer.propose(brief)->assignment);
  brief.phase = Phase::tuning;
  EXPECT_TRUE(proposer.propose(brief)->variant);
}

TEST(Proposal, IsOneChangeWithAReason) {
  const Project project = project_with(kSpace + kLadder);
  Proposal proposal;
  proposal.assignment = Assignment{"A", "3"};
  EXPECT_NE(what_is_wrong(proposal, project, {}).find("hypothesis"), std::string::npos);
  proposal.hypothesis = {"b", "c", "e"};
  EXPECT_EQ(what_is_wrong(proposal, project, {}), "");
  proposal.variant = "split";
  EXPECT_NE(what_is_wrong(proposal, project, {}).find("2 changes"), std::string::npos);
  proposal.variant.reset();
  proposal.assignment = Assignment{"A", "99"};
  EXPECT_NE(what_is_wrong(proposal, project, {}).find("accepted are 1, 2"), std::string::npos);
  proposal.assignment = Assignment{"A", "1"};
  EXPECT_NE(what_is_wrong(proposal, project, {}).find("already"), std::string::npos);
  proposal.assignment = Assignment{"Z", "1"};
  EXPECT_NE(what_is_wrong(proposal, project, {}).find("no tunable"), std::string::npos);
}

TEST(Manifest, TheTargetCountsAtAShapeThatThereIs) {
  EXPECT_EQ(project_with("[optimize]\ntarget_shape = \"tiny\"\n").optimize.target_shape, "tiny");
  EXPECT_THROW(project_with("[optimize]\ntarget_shape = \"nowhere\"\n"), Error);
}

TEST(Choice, SurvivesItsFile) {
  const Project project = project_with(kSpace + kLadder);
  const Choice choice{"vector", {{"A", "7"}, {"C", "4"}}};
  EXPECT_EQ(parse_tuned(tuned_text(choice), project), choice);
  EXPECT_EQ(parse_tuned(tuned_text({}), project), Choice{});
  EXPECT_THROW(parse_tuned("variant = \"gone\"", project), Error);
  EXPECT_THROW(parse_tuned("[tunables]\nA = \"99\"", project), Error);
  const Kernel kernel = kernel_of(project, choice);
  EXPECT_EQ(kernel.sources, std::vector<std::string>{"v.cpp"});
  EXPECT_EQ(kernel.defines[0], (std::pair<std::string, std::string>{"A", "7"}));
  EXPECT_EQ(kernel.defines[1], (std::pair<std::string, std::string>{"B", "1"}));
}

TEST(Manifest, RefusesTunablesThatMakeNoSense) {
  EXPECT_THROW(project_with("[tunables]\nA = []\n"), Error);
  EXPECT_THROW(project_with("[tunables]\nA = { from = 4, to = 1 }\n"), Error);
  EXPECT_THROW(project_with("[tunables]\nA = { values = [1, 2], start = 3 }\n"), Error);
  EXPECT_THROW(project_with("[tunables]\nA = { values = [1], phase = \"lunch\" }\n"), Error);
  EXPECT_THROW(project_with("[tunables]\nA = [4]\n[optimize]\nconstraints = [\"A < 4\"]\n"), Error);
  EXPECT_THROW(project_with("[optimize]\nconstraints = [\"n\"]\n"), Error);
  EXPECT_THROW(project_with("[[variants]]\nname = \"kernel\"\n"), Error);
  EXPECT_THROW(project_with("[optimize]\nproposers = [\"oracle\"]\n"), Error);
}

}  // namespace
}  // namespace dent::search_test

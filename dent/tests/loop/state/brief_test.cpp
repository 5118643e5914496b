// SPDX-License-Identifier: MIT
// The document that programs get: its keys are theirs to rely on.
#include "loop/state/brief.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "records/json.h"

namespace dent::brief_test {
namespace {

using nlohmann::json;

TEST(Brief, SaysAllThatAProposerMayKnow) {
  Project project;
  project.tunables = {{"TILE", {"8", "16"}, "8", "memory", "rows of a tile"}};
  project.variants.push_back({.name = "split", .kernel = {}, .phase = "parallelism", .about = "more blocks"});
  Brief brief;
  brief.project = &project;
  brief.iteration = 2;
  brief.goal = "faster";
  brief.target = 1.5;
  brief.speedup = 1.25;
  brief.left.seconds = 60;
  brief.phase = Phase::memory;
  brief.diagnosis.emplace();
  brief.diagnosis->finding.bottleneck = "few_ctas";
  brief.diagnosis->patterns.emplace_back().pattern = "kv-split";
  brief.incumbent.tunables["TILE"] = "16";
  brief.shapes = {{{"tiny", {{"n", 4}}}, 200, 160}};
  PastIteration past;
  past.number = 1;
  past.proposal.assignment = Assignment{"TILE", "16"};
  past.outcome.kept = true;
  past.outcome.stage = TrialStage::kept;
  past.outcome.gain = Ratio{1.25, {1.2, 1.3}};
  brief.history = {past};
  brief.allowed_files = {"k.cpp"};
  brief.protected_files = {"dent.toml"};
  brief.patch_lines = 400;
  brief.worktree = "/there";

  const json document = require_json(brief_document(brief));
  EXPECT_EQ(document.at("schema"), 1);
  EXPECT_EQ(document.at("iteration"), 2);
  EXPECT_EQ(document.at("target"), 1.5);
  EXPECT_EQ(document.at("speedup"), 1.25);
  EXPECT_EQ(document.at("budget_left"), json({{"seconds", 60}}));
  EXPECT_EQ(document.at("phase"), "memory");
  EXPECT_EQ(document.at("diagnosis").at("bottleneck"), "few_ctas");
  EXPECT_TRUE(document.at("diagnosis").at("patterns").empty());
  EXPECT_EQ(document.at("patterns").at(0).at("pattern"), "kv-split");
  EXPECT_EQ(document.at("incumbent"), json({{"variant", "kernel"}, {"tunables", {{"TILE", "16"}}}}));
  EXPECT_EQ(document.at("tunables"), json::array({{{"name", "TILE"},
                                                   {"values", {"8", "16"}},
                                                   {"now", "16"},
                                                   {"phase", "memory"},
                                                   {"about", "rows of a tile"}}}));
  EXPECT_EQ(document.at("variants"),
            json::array({{{"name", "split"}, {"phase", "parallelism"}, {"about", "more blocks"}}}));
  EXPECT_EQ(
      document.at("shapes"),
      json::array({{{"name", "tiny"}, {"sizes", {{"n", 4}}}, {"baseline_ns", 200}, {"incumbent_ns", 160}}}));
  const json& first = document.at("history").at(0);
  EXPECT_EQ(first.at("iteration"), 1);
  EXPECT_EQ(first.at("assignment").at("value"), "16");
  EXPECT_EQ(first.at("outcome").at("stage"), "kept");
  EXPECT_EQ(first.at("outcome").at("gain").at("centre"), 1.25);
  EXPECT_EQ(document.at("allowed_files"), json::array({"k.cpp"}));
  EXPECT_EQ(document.at("worktree"), "/there");
}

TEST(Brief, NamesWhatIsBeingTried) {
  Brief brief;
  EXPECT_FALSE(parse_json(brief_document(brief)).contains("pending"));
  PastIteration tried;
  tried.number = 7;
  tried.proposal.variant = "split";
  brief.pending = {tried};
  const json document = parse_json(brief_document(brief));
  ASSERT_EQ(document.at("pending").size(), 1U);
  EXPECT_EQ(document.at("pending")[0].at("iteration"), 7);
  EXPECT_EQ(document.at("pending")[0].at("variant"), "split");
  EXPECT_TRUE(brief.was_tried("split"));
  EXPECT_FALSE(brief.was_tried("wide"));
}

TEST(Brief, LeavesOutWhatThereIsNot) {
  const json document = require_json(brief_document({}));
  for (const char* absent : {"target", "diagnosis", "patterns", "tunables", "variants"})
    EXPECT_FALSE(document.contains(absent)) << absent;
  EXPECT_TRUE(document.at("budget_left").empty());
}

}  // namespace
}  // namespace dent::brief_test

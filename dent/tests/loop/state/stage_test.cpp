// SPDX-License-Identifier: MIT
// What a loop does next, for every beginning of a ledger: a process that died after any record goes on there.
#include "loop/state/stage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ledger/ledger.h"

namespace dent::stage_test {
namespace {

// The stages that follow from the first 1, 2, 3 ... records, each named once for as long as it lasts.
std::string stages(const std::string& golden, bool spent = false) {
  const auto records = read_ledger(std::filesystem::path(DENT_GOLDEN) / (golden + ".jsonl")).records;
  std::string text;
  std::string_view last;
  for (std::size_t n = 1; n <= records.size(); ++n) {
    const std::span<const Record> beginning(records.data(), n);
    const LoopStage stage = next_stage(state_of(beginning), SessionFacts(beginning), spent);
    if (name(stage) == last) continue;
    last = name(stage);
    text += (text.empty() ? "" : " ") + std::string(last);
  }
  return text;
}

TEST(Stage, FollowsALoopFromItsOpeningToItsVerdict) {
  EXPECT_EQ(
      stages("optimize"),
      "opening starting diagnosing proposing evaluating diagnosing proposing evaluating proposing evaluating "
      "proposing evaluating proposing validating concluding");
  // One change after the other, each in a process of its own.
  EXPECT_EQ(stages("evaluate"), "opening starting diagnosing proposing evaluating diagnosing proposing");
}

// An end for want of budget holds while nothing is left of it, and is void once there is more.
TEST(Stage, GoesOnWhenThereIsMoreBudget) {
  EXPECT_EQ(stages("spent", true), "opening starting proposing concluding");
  EXPECT_EQ(stages("spent", false), "opening starting diagnosing proposing");
}

TEST(Stage, AFailedGateOfTheStartIsTheEnd) {
  auto records = read_ledger(std::filesystem::path(DENT_GOLDEN) / "optimize.jsonl").records;
  for (Record& record : records) {
    auto* gate = std::get_if<record::Gate>(&record.data);
    if (gate == nullptr || gate->step != "build") continue;
    gate->verdict = StepVerdict::fail;
    gate->cause = Cause::build;
  }
  const SessionFacts facts(records);
  const LoopState state = state_of(records);
  EXPECT_EQ(next_stage(state, facts, false), LoopStage::concluding);
  ASSERT_NE(stopped_by(facts, state, false), nullptr);
  EXPECT_EQ(stopped_by(facts, state, false)->step, "build");
}

// Candidates fail all the time.
TEST(Stage, AFailedTrialIsNotTheEnd) {
  auto records = read_ledger(std::filesystem::path(DENT_GOLDEN) / "optimize.jsonl").records;
  int failures = 0;
  for (const Record& record : records) {
    const auto* gate = record.as<record::Gate>();
    failures += gate != nullptr && gate->verdict == StepVerdict::fail ? 1 : 0;
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(stopped_by(SessionFacts(records), state_of(records), false), nullptr);
}

// So many at a time; and what is being tried comes to its end before the loop does.
TEST(Stage, AsksForMoreIdeasWhileThereIsRoomBesideWhatIsTried) {
  auto records = read_ledger(std::filesystem::path(DENT_GOLDEN) / "optimize.jsonl").records;
  const auto first = std::find_if(records.begin(), records.end(), [](const Record& record) {
    return record.as<record::Iteration>() != nullptr;
  });
  ASSERT_NE(first, records.end());
  records.erase(first + 1, records.end());
  const SessionFacts facts(records);
  LoopState state = state_of(records);
  EXPECT_EQ(next_stage(state, facts, false), LoopStage::evaluating);
  state.parallel = 2;
  EXPECT_EQ(next_stage(state, facts, false), LoopStage::proposing);
  EXPECT_EQ(next_stage(state, facts, false, true), LoopStage::evaluating);  // nobody has an idea
  EXPECT_EQ(next_stage(state, facts, true), LoopStage::evaluating);         // the budget is spent
  state.most_iterations = 1;
  EXPECT_EQ(next_stage(state, facts, false), LoopStage::evaluating);
}

}  // namespace
}  // namespace dent::stage_test

// SPDX-License-Identifier: MIT
#include "report/session_view.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "ledger/in_child.h"
#include "report/example_session.h"

namespace dent {
namespace {

using test::example_records;
using test::Story;

SessionView view_of(Story story) { return view_session("id", example_records(story)); }

TEST(SessionView, TakesTheRecordsOfAWholeSession) {
  const SessionView view = view_of(Story::faster);
  EXPECT_EQ(view.verdict, "FASTER");
  EXPECT_EQ(view.exit_code, 0);
  ASSERT_EQ(view.gates.size(), 4u);
  EXPECT_EQ(view.gates[3].step, "performance");
  EXPECT_EQ(view.gates[3].elapsed_s, 45.5);
  EXPECT_EQ(view.gates[3].time_box_s, 40);
  ASSERT_EQ(view.shapes.size(), 3u);
  EXPECT_EQ(view.shapes[0].samples.size(), 128u);
  EXPECT_EQ(view.shapes[1].aside.size(), 6u);
  EXPECT_TRUE(view.mean);
}

TEST(SessionView, ASessionThatWasKilledSaysSoAndHowToGoOn) {
  const SessionView view = view_of(Story::interrupted);
  EXPECT_EQ(view.verdict, "INTERRUPTED");
  EXPECT_EQ(view.next, "dent resume id");
  EXPECT_EQ(view.gates.back().verdict, "interrupted");
}

TEST(SessionView, StepsThatWereNotReachedAreListedAsSuch) {
  EXPECT_EQ(view_of(Story::incorrect).gates.back().verdict, "not reached");
}

TEST(SessionView, TheLastWordOnAThingCounts) {
  auto records = example_records(Story::incorrect);
  records.push_back({0, "t", "begin", {{"step", "correctness"}}});
  EXPECT_EQ(view_session("id", records).verdict, "INTERRUPTED")
      << "a step that began again has no verdict yet";
  records.push_back({0,
                     "t",
                     "gate",
                     {{"step", "correctness"}, {"verdict", "pass"}, {"reason", "fixed"}, {"elapsed_s", 1}}});
  const SessionView view = view_session("id", records);
  EXPECT_EQ(view.gates.size(), 4u);
  EXPECT_EQ(view.gates[2].verdict, "pass");
  EXPECT_EQ(view.gates[2].last_words, "");
}

TEST(SessionView, IgnoresKindsItDoesNotKnow) {
  auto records = example_records(Story::faster);
  records.push_back({0, "t", "horoscope", {{"stars", 5}}});
  EXPECT_EQ(view_session("id", records).verdict, "FASTER");
}

TEST(SessionView, AMissingFieldIsAnErrorThatNamesTheRecord) {
  auto records = example_records(Story::faster);
  for (auto& record : records) {
    if (record.kind == "comparison") record.data.erase("pairs");
  }
  try {
    view_session("id", records);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(comparison)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("pairs"), std::string::npos) << error.what();
  }
}

// Whatever instant the session was killed at, its beginning can be shown.
TEST(SessionView, EveryBeginningOfASessionCanBeShown) {
  const auto records = example_records(Story::faster);
  for (std::size_t length = 0; length <= records.size(); ++length) {
    EXPECT_NO_THROW(view_session("id", std::span(records).first(length))) << length;
  }
}

TEST(SessionView, ATornLastLineIsNoHindrance) {
  test::ScratchFolder project;
  SessionStore store(project.path());
  const SessionFolder session = test::example_session(store, Story::faster);
  std::ofstream(session.ledger(), std::ios::app) << "{\"schema\":1,\"n\":";
  EXPECT_EQ(load_session(session).verdict, "FASTER");
}

}  // namespace
}  // namespace dent

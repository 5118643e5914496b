// SPDX-License-Identifier: MIT
#include "report/session_view.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "ledger/in_child.h"
#include "report/example_session.h"

namespace dent::session_view_test {
namespace {

using test::example_records;
using test::Story;

SessionView view_of(Story story) { return view_session("id", example_records(story)); }

TEST(SessionView, TakesTheRecordsOfAWholeSession) {
  const SessionView view = view_of(Story::faster);
  EXPECT_EQ(view.verdict, Verdict::faster);
  EXPECT_EQ(view.end->exit_code, 0);
  ASSERT_EQ(view.steps.size(), 4u);
  EXPECT_EQ(view.steps[3].step, "performance");
  EXPECT_EQ(view.steps[3].gate->elapsed_s, 45.5);
  EXPECT_EQ(view.steps[3].time_box_s, 40);
  EXPECT_EQ(view.comparisons.size(), 3u);
  ASSERT_EQ(view.samples.size(), 3u);
  EXPECT_EQ(view.samples[0].baseline_ns.size(), 128u);
  EXPECT_EQ(view.samples[1].aside.size(), 6u);
  EXPECT_TRUE(view.mean());
}

TEST(SessionView, ASessionThatWasKilledSaysSoAndHowToGoOn) {
  const SessionView view = view_of(Story::interrupted);
  EXPECT_EQ(view.verdict, Verdict::interrupted);
  EXPECT_EQ(view.next, "dent resume id");
  EXPECT_EQ(view.steps.back().verdict(), "interrupted");
}

TEST(SessionView, StepsThatWereNotReachedAreListedAsSuch) {
  EXPECT_EQ(view_of(Story::incorrect).steps.back().verdict(), "not reached");
}

TEST(SessionView, TheLastWordOnAThingCounts) {
  auto records = example_records(Story::incorrect);
  records.push_back({0, "t", "correctness", record::Begin{"correctness"}});
  EXPECT_EQ(view_session("id", records).verdict, Verdict::interrupted)
      << "a step that began again has no verdict yet";
  record::Gate passed;
  passed.step = "correctness";
  passed.reason = "fixed";
  records.push_back({0, "t", "correctness", passed});
  const SessionView view = view_session("id", records);
  EXPECT_EQ(view.steps.size(), 4u);
  EXPECT_EQ(view.steps[2].verdict(), "pass");
  EXPECT_EQ(view.steps[2].gate->last_words, "");
}

TEST(SessionView, IgnoresKindsItDoesNotKnow) {
  auto records = example_records(Story::faster);
  records.push_back({0, "t", "", record::Unknown{"horoscope", R"({"stars":5})"}});
  EXPECT_EQ(view_session("id", records).verdict, Verdict::faster);
}

// The tables show the session's kernel, not candidates that were tried.
TEST(SessionView, WhatATrialWroteIsNotTheSessions) {
  auto records = example_records(Story::faster);
  const SessionView before = view_session("id", records);
  record::Correctness wrong = before.correctness.at(0);
  wrong.verdict = StepVerdict::fail;
  record::Comparison beside = before.comparisons.at(0);
  beside.against = Against::incumbent;
  beside.verdict = SpeedVerdict::slower;
  record::Gate ended;
  ended.step = "003/correctness/tiny";
  ended.elapsed_s = 2;
  for (const AnyRecord& data : {AnyRecord(wrong), AnyRecord(beside), AnyRecord(ended)})
    records.push_back({0, "t", "003/correctness/tiny", data});
  const SessionView view = view_session("id", records);
  EXPECT_EQ(view.steps.size(), before.steps.size());
  EXPECT_EQ(view.correctness, before.correctness);
  EXPECT_EQ(view.comparisons, before.comparisons);
  EXPECT_DOUBLE_EQ(view.cost.device_s, before.cost.device_s + 2) << "but it has cost time";
}

TEST(SessionView, ShapesThatNoProposerSawAreNotInTheTables) {
  auto records = example_records(Story::faster);
  record::Correctness hidden = view_session("id", records).correctness.at(0);
  hidden.shape = "odd";
  hidden.held_out = true;
  records.push_back({0, "t", "winner/003/held-out/correctness/odd", hidden});
  EXPECT_EQ(view_session("id", records).correctness.size(), 1u);
}

// A session may be killed at any instant, and the view must still be possible.
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
  EXPECT_EQ(load_session(session).verdict, Verdict::faster);
}

}  // namespace
}  // namespace dent::session_view_test

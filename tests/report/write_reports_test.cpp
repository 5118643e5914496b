// SPDX-License-Identifier: MIT
#include "report/write_reports.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "ledger/in_child.h"
#include "report/example_session.h"
#include "report/history.h"

namespace dent {
namespace {

using testing::example_session;
using testing::ScratchFolder;
using testing::Story;

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(WriteReports, PutsThreeFilesIntoTheSessionsFolder) {
  ScratchFolder project;
  SessionStore store(project.path());
  const SessionFolder session = example_session(store, Story::faster);
  const ReportFiles files = write_reports(store, session);
  EXPECT_NE(content(files.markdown).find("FASTER"), std::string::npos);
  EXPECT_NE(content(files.html).find("FASTER"), std::string::npos);
  const auto json = nlohmann::json::parse(content(files.json));
  EXPECT_EQ(json.at("verdict"), "FASTER");
  EXPECT_EQ(json.at("ratio").at("centre"), 1.11);
  EXPECT_EQ(json.at("comparisons").size(), 3u);
  EXPECT_EQ(json.at("gates").at(3).at("time_box_s"), 40);
}

TEST(WriteReports, HistoryIsOfEarlierSessionsAndSurvivesABrokenOne) {
  ScratchFolder project;
  SessionStore store(project.path());
  store.prepare();
  const auto sessions = store.folder() / "sessions";
  std::filesystem::create_directory(sessions / "20200101-000000-aaaa");  // no ledger in it
  const SessionFolder session = example_session(store, Story::faster);
  std::filesystem::create_directory(sessions / "99990101-000000-aaaa");  // later than this one
  const auto history = history_before(store, session.id);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].id, "20200101-000000-aaaa");
  EXPECT_FALSE(history[0].unreadable.empty());
  EXPECT_NO_THROW(write_reports(store, session));
}

TEST(WriteReports, CanBeMadeOfASessionThatStillRuns) {
  ScratchFolder project;
  SessionStore store(project.path());
  const ReportFiles files = write_reports(store, example_session(store, Story::interrupted));
  EXPECT_EQ(nlohmann::json::parse(content(files.json)).at("verdict"), "INTERRUPTED");
}

}  // namespace
}  // namespace dent

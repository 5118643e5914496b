// SPDX-License-Identifier: MIT
#include "report/write_reports.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "ledger/in_child.h"
#include "records/json.h"
#include "report/example_session.h"
#include "report/history.h"

namespace dent::write_reports_test {
namespace {

using test::example_session;
using test::ScratchFolder;
using test::Story;

TEST(WriteReports, PutsThreeFilesIntoTheSessionsFolder) {
  ScratchFolder project;
  SessionStore store(project.path());
  const SessionFolder session = example_session(store, Story::faster);
  const ReportFiles files = write_reports(store, session);
  EXPECT_NE(text_of(files.markdown).find("FASTER"), std::string::npos);
  EXPECT_NE(text_of(files.html).find("FASTER"), std::string::npos);
  const auto written = parse_json(text_of(files.json));
  EXPECT_EQ(written.at("verdict"), "FASTER");
  EXPECT_EQ(written.at("ratio").at("centre"), 1.11);
  EXPECT_EQ(written.at("comparisons").size(), 3u);
  EXPECT_EQ(written.at("gates").at(3).at("time_box_s"), 40);
}

TEST(WriteReports, HistoryIsOfEarlierSessionsAndSurvivesABrokenOne) {
  ScratchFolder project;
  SessionStore store(project.path());
  store.prepare();
  const auto sessions = store.folder() / "sessions";
  std::filesystem::create_directory(sessions / "20200101-000000-aaaa");  // without a ledger
  const SessionFolder session = example_session(store, Story::faster);
  std::filesystem::create_directory(sessions / "99990101-000000-aaaa");  // later than this session
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
  EXPECT_EQ(parse_json(text_of(files.json)).at("verdict"), "INTERRUPTED");
}

// Sessions with every kind of ending. browser_test sets the folder and opens the pages.
TEST(WriteReports, EveryEndingHasItsPage) {
  ScratchFolder scratch;
  const char* folder = std::getenv("DENT_EXAMPLES");
  SessionStore store(folder != nullptr ? std::filesystem::path(folder) : scratch.path());
  for (const Story story : {Story::interrupted, Story::incorrect, Story::cheating, Story::faster}) {
    const ReportFiles files = write_reports(store, example_session(store, story));
    EXPECT_NE(text_of(files.html).find("</html>"), std::string::npos);
    std::cout << "page: " << files.html.string() << '\n';
  }
}

}  // namespace
}  // namespace dent::write_reports_test

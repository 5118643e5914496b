// SPDX-License-Identifier: MIT
// Commands that read sessions, on the golden ledgers: what they say, as JSON and to people, and how they end.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "session/dent_program.h"

namespace dent::test::sessions_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct GoldenSession {
  std::string name, id, verdict;
};

// A project whose sessions are the golden ledgers, each under the id that it was recorded with.
class Sessions : public testing::Test {
 protected:
  Sessions() {
    project_.write_scale_manifest("right");
    for (const auto& entry : fs::directory_iterator(DENT_GOLDEN)) {
      if (entry.path().extension() != ".jsonl") continue;
      const std::string name = entry.path().stem();
      const json report = require_json(text_of(fs::path(DENT_GOLDEN) / (name + ".report.json")));
      golden_.push_back({name, report.at("id"), report.at("verdict")});
      const fs::path folder = project_.folder() / ".dent" / "sessions" / golden_.back().id;
      fs::create_directories(folder);
      fs::copy_file(entry.path(), folder / "ledger.jsonl");
    }
    std::sort(golden_.begin(), golden_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  }

  const std::string& id(const std::string& name) const {
    const auto found = std::find_if(golden_.begin(), golden_.end(),
                                    [&](const auto& session) { return session.name == name; });
    if (found == golden_.end()) throw std::invalid_argument("no golden ledger is called " + name);
    return found->id;
  }
  Ran dent(const std::vector<std::string>& arguments) const { return project_.dent(arguments); }
  // Its document, which says what it is; a failure where it ends otherwise than with `code`.
  json document(std::vector<std::string> arguments, const std::string& command, int code = 0) const {
    arguments.push_back("--json");
    const Ran ran = dent(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    const json document = ran.json();
    if (!document.is_object()) {
      ADD_FAILURE() << command << " printed no document: " << ran.out << ran.err;
      return json::object();
    }
    EXPECT_EQ(document.value("schema", 0), 1);
    EXPECT_EQ(document.value("command", ""), command);
    return document;
  }

  ScratchProject project_;
  std::vector<GoldenSession> golden_;  // oldest first
};

TEST_F(Sessions, LogListsThemNewestFirstWithTheirVerdicts) {
  const json sessions = document({"log"}, "log").at("sessions");
  ASSERT_EQ(sessions.size(), golden_.size());
  const Ran text = dent({"log"});
  EXPECT_EQ(text.code, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < golden_.size(); ++i) {
    const GoldenSession& expected = golden_[golden_.size() - 1 - i];
    EXPECT_EQ(sessions[i].at("session"), expected.id);
    EXPECT_EQ(sessions[i].at("verdict"), expected.verdict) << expected.name;
    EXPECT_FALSE(sessions[i].at("reason").get<std::string>().empty()) << expected.name;
    at = text.out.find(expected.id + " ", at);
    ASSERT_NE(at, std::string::npos) << expected.id << " is not in its place in\n" << text.out;
  }
  EXPECT_EQ(document({"log", "-n", "2"}, "log").at("sessions").size(), 2U);
}

TEST_F(Sessions, ABrokenOneHidesNoOther) {
  project_.write(".dent/sessions/" + id("wrong") + "/ledger.jsonl", "no JSON\nat all\n");
  const json sessions = document({"log"}, "log").at("sessions");
  ASSERT_EQ(sessions.size(), golden_.size());
  EXPECT_EQ(
      std::count_if(sessions.begin(), sessions.end(), [](const json& s) { return s.contains("error"); }), 1);
  EXPECT_EQ(document({"cost"}, "cost").at("sessions").size(), golden_.size());
}

TEST_F(Sessions, ShowTellsEachOneByItsId) {
  for (const GoldenSession& session : golden_) {
    const int code = session.verdict == "INTERRUPTED" ? 14 : 0;
    const json shown = document({"show", session.id}, "show", code);
    EXPECT_EQ(shown.value("session", ""), session.id);
    EXPECT_EQ(shown.at("report").value("verdict", ""), session.verdict) << session.name;
    const Ran text = dent({"show", session.id});
    EXPECT_EQ(text.code, code) << text.err;
    EXPECT_NE(text.out.find(": " + session.verdict + "\n"), std::string::npos) << text.out.substr(0, 500);
  }
  EXPECT_EQ(document({"show"}, "show").value("session", ""), golden_.back().id) << "latest";
  const std::string unique = id("optimize").substr(0, 15);
  EXPECT_EQ(document({"show", unique}, "show").value("session", ""), id("optimize"))
      << "the beginning of an id";
  EXPECT_EQ(dent({"show", "20200101"}).code, 2);
}

TEST_F(Sessions, ReportWritesThreeFilesThatHoldTheVerdict) {
  const json written = document({"report", id("run")}, "report");
  for (const char* kind : {"markdown", "html", "json"}) {
    const fs::path file = written.at(kind).get<std::string>();
    EXPECT_EQ(file.parent_path(), project_.folder() / ".dent" / "sessions" / id("run"));
    EXPECT_NE(text_of(file).find("FASTER"), std::string::npos) << file;
  }
  const Ran text = dent({"report", id("run")});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("report.html\n"), std::string::npos) << text.out;
}

TEST_F(Sessions, CostCountsEachAndAll) {
  const json all = document({"cost"}, "cost");
  ASSERT_EQ(all.at("sessions").size(), golden_.size());
  double wall_s = 0;
  for (const json& session : all.at("sessions")) {
    EXPECT_GT(session.at("wall_s").get<double>(), 0) << session;
    wall_s += session.at("wall_s").get<double>();
  }
  EXPECT_NEAR(all.at("all").at("wall_s").get<double>(), wall_s, 1e-6 * wall_s);
  EXPECT_EQ(document({"cost", id("run")}, "cost").at("sessions").size(), 1U);
  EXPECT_NE(dent({"cost"}).out.find("\nall "), std::string::npos);
  EXPECT_EQ(dent({"cost", id("run")}).out.find("\nall "), std::string::npos) << "one has no sum";
}

TEST_F(Sessions, CompareEndsWithSevenForARegression) {
  const json worse = document({"compare", id("run"), id("slower")}, "compare", 7);
  EXPECT_EQ(worse.at("verdict"), "REGRESSED");
  EXPECT_EQ(worse.at("exit_code"), 7);
  EXPECT_LT(worse.at("change").at("high").get<double>(), 1);
  for (const json& shape : worse.at("shapes")) EXPECT_EQ(shape.at("verdict"), "SLOWER") << shape;
  const json better = document({"compare", id("slower"), id("run")}, "compare");
  EXPECT_EQ(better.at("verdict"), "FASTER");
  const Ran text = dent({"compare", id("run"), id("slower")});
  EXPECT_EQ(text.code, 7);
  EXPECT_NE(text.out.find("\nREGRESSED: "), std::string::npos) << text.out;
  const Ran nothing_measured = dent({"compare", id("run"), id("wrong")});
  EXPECT_EQ(nothing_measured.code, 2);
  EXPECT_NE(nothing_measured.err.find("no measured shape in common"), std::string::npos)
      << nothing_measured.err;
}

TEST_F(Sessions, PatternsMatchADiagnosis) {
  const json matched = document({"patterns", "match", id("profile")}, "patterns match");
  EXPECT_EQ(matched.value("session", ""), id("profile"));
  const json& first = matched.at("matches").at(0);
  EXPECT_EQ(first.at("bottleneck"), "few_threads");
  EXPECT_EQ(first.at("patterns").at(0).at("pattern"), "cpu-threads");
  EXPECT_NE(dent({"patterns", "match", id("profile")}).out.find("because few_threads"), std::string::npos);
  EXPECT_EQ(dent({"patterns", "match", id("run")}).code, 2) << "without a diagnosis";
}

// Whoever reads a pipe gets whole lines, whatever the terminal around it is.
TEST_F(Sessions, FortyColumnsCutNothing) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"log"},
                                             {"log", "--json"},
                                             {"show", id("optimize")},
                                             {"show", id("optimize"), "--json"},
                                             {"report", id("run")},
                                             {"cost"},
                                             {"compare", id("run"), id("slower")},
                                             {"patterns", "match", id("profile")}}) {
    const Ran wide = dent(arguments), narrow = project_.dent(arguments, 120, "COLUMNS=40");
    EXPECT_EQ(narrow.code, wide.code) << arguments[0];
    EXPECT_EQ(narrow.out, wide.out) << arguments[0];
    EXPECT_EQ(wide.out.find('\x1b'), std::string::npos) << "no colours in a pipe";
  }
}

}  // namespace
}  // namespace dent::test::sessions_test

// SPDX-License-Identifier: MIT
// Real projects below one folder, through dent.
#include "suites/suite.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "session/dent_program.h"

namespace dent::test::suite_test {
namespace {

namespace fs = std::filesystem;

const std::string kQuick =
    "[performance]\nseconds = 0.2\nsame_within = 0.5\nprecision = 0.9\nbaseline_within = 50\n"
    "[correctness]\nseeds = 1\n";

class SuiteFolder : public ScratchProject {
 public:
  void add(const std::string& name, const std::string& entry, const std::string& more = {}) const {
    const ScratchProject one;
    one.write_scale_manifest(entry, kQuick + more);
    fs::create_directories(folder() / name);
    write(name + "/dent.toml", one.read("dent.toml"));
  }
  std::string line(const std::string& words) const {
    // Their kernels are in a library of this test's, outside of the folder.
    const char* trust = words.starts_with("show") ? "" : " --trust";
    return std::string("'") + DENT_PROGRAM + "' suite " + words + trust + " '" + folder().string() + "'";
  }
  Ran suite(const std::string& words) const {
    const Finished finished = run({.argv = {"/bin/sh", "-c",
                                            line(words) + " >'" + (folder() / "stdout").string() + "' 2>'" +
                                                (folder() / "stderr").string() + "'"}},
                                  240);
    return {finished.ending.kind == Ending::Kind::exited ? finished.ending.code : -1, read("stdout"),
            read("stderr")};
  }
};

std::map<std::string, nlohmann::json> rows_of(const nlohmann::json& document) {
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : document.at("rows")) rows[row.at("project")] = row;
  return rows;
}

TEST(Projects, AreFoundBelowInTheOrderOfTheirNumbers) {
  const SuiteFolder suite;
  for (const char* name : {"10_b", "2_a", "deep/3_c", ".hidden/1_d", "plain"}) suite.add(name, "right");
  fs::create_directories(suite.folder() / "empty");
  EXPECT_EQ(projects_below(suite.folder()), (std::vector<std::string>{"2_a", "10_b", "deep/3_c", "plain"}));
  EXPECT_THROW(projects_below(suite.folder() / "empty"), Error);
  EXPECT_THROW(projects_below(suite.folder() / "nowhere"), Error);
}

TEST(SuiteRun, AFailureIsARowWithItsReason) {
  const SuiteFolder suite;
  suite.add("1_right", "right");
  suite.add("2_wrong", "wrong");
  suite.add("3_crashes", "crashes");
  fs::create_directories(suite.folder() / "4_broken");
  suite.write("4_broken/dent.toml", "version = 1\nnonsense = 2\n");
  const Ran ran = suite.suite("run --json --without profile");
  EXPECT_EQ(ran.code, 5) << ran.err;
  const auto document = ran.json();
  auto rows = rows_of(document);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows["1_right"].at("verdict"), "SAME");
  EXPECT_TRUE(rows["1_right"].contains("ratio")) << rows["1_right"];
  EXPECT_EQ(rows["2_wrong"].at("verdict"), "INCORRECT");
  EXPECT_EQ(rows["3_crashes"].at("verdict"), "INCORRECT");
  EXPECT_NE(rows["3_crashes"].at("reason").get<std::string>().find("SIG"), std::string::npos);
  EXPECT_FALSE(rows["4_broken"].contains("verdict"));
  EXPECT_NE(rows["4_broken"].at("reason").get<std::string>().find("kernel: is missing"), std::string::npos);
  EXPECT_EQ(rows["4_broken"].at("exit_code"), 2);
  const auto& score = document.at("score");
  EXPECT_EQ(score.at("right"), 1);
  EXPECT_EQ(score.at("wrong"), 2);
  EXPECT_EQ(score.at("not_judged"), 1);
  EXPECT_EQ(score.at("fast").at(0).at("share"), 0.25);
  EXPECT_NE(ran.err.find("[2/4] 1_right"), std::string::npos) << ran.err;
  EXPECT_NE(text_of(document.at("report").get<std::string>()).find("2_wrong"), std::string::npos);
  EXPECT_TRUE(text_of(document.at("plot").get<std::string>()).starts_with("<svg xmlns="));

  // The same table again, from what is on disk.
  const Ran shown = suite.suite("show --json");
  EXPECT_EQ(shown.code, 5);
  EXPECT_EQ(shown.json().at("rows"), document.at("rows"));
  const Ran text = suite.suite("show");
  EXPECT_NE(text.out.find("4 projects: 1 right, 2 wrong, 1 not judged"), std::string::npos) << text.out;
}

// Killed while a project is measured: rows that are there stay, the session in flight goes on, the rest
// follows.
TEST(SuiteRun, GoesOnAfterAKill) {
  const SuiteFolder suite;
  suite.add("1_first", "right");
  suite.add("2_second", "right", "[limits]\nbuild_seconds = 60\n");
  suite.add("3_third", "wrong");
  {
    Process process({.argv = {"/bin/sh", "-c", "exec " + suite.line("run --without profile")},
                     .log = suite.folder() / "log"});
    const auto sessions = suite.folder() / "2_second" / ".dent" / "sessions";
    std::error_code none;
    const auto has_measured = [&] {
      for (const auto& session : fs::directory_iterator(sessions, none))
        if (text_of(session.path() / "ledger.jsonl").find("\"kind\":\"gate\"") != std::string::npos)
          return true;
      return false;
    };
    while (!has_measured() && !process.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(process.poll()) << suite.read("log");
    ::kill(process.id(), SIGKILL);  // its children die with it
    process.wait(30);
  }
  const Ran between = suite.suite("show --json");
  EXPECT_EQ(between.code, 3) << between.out;
  auto rows = rows_of(between.json());
  EXPECT_EQ(rows["3_third"].at("verdict"), "INTERRUPTED");
  const auto first = rows["1_first"];
  EXPECT_TRUE(first.contains("session"));

  const Ran ran = suite.suite("resume --json");
  EXPECT_EQ(ran.code, 5) << ran.err;
  rows = rows_of(ran.json());
  EXPECT_EQ(rows["1_first"], first) << "it is not run again";
  EXPECT_EQ(rows["2_second"].at("verdict"), "SAME");
  EXPECT_EQ(rows["3_third"].at("verdict"), "INCORRECT");
  int sessions = 0;
  for ([[maybe_unused]] const auto& one :
       fs::directory_iterator(suite.folder() / "2_second" / ".dent" / "sessions"))
    ++sessions;
  EXPECT_EQ(sessions, 1) << "the session that was cut short went on";
}

TEST(SuiteRun, MistakesSayWhatToTry) {
  const SuiteFolder suite;
  EXPECT_EQ(suite.suite("run").code, 2);
  EXPECT_NE(suite.read("stderr").find("dent.toml"), std::string::npos) << suite.read("stderr");
  EXPECT_EQ(suite.suite("resume").code, 2);
  EXPECT_NE(suite.read("stderr").find("dent suite run"), std::string::npos) << suite.read("stderr");
  suite.add("1_right", "right");
  EXPECT_EQ(suite.suite("run --without nonsense").code, 2);
}

}  // namespace
}  // namespace dent::test::suite_test

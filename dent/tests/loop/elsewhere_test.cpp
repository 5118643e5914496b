// SPDX-License-Identifier: MIT
// dent optimize --on and dent evaluate --on: the same loop, measured by jobs, whoever dies on the way.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "executors/job_table.h"
#include "loop/loop_project.h"

namespace dent::elsewhere_test {
namespace {

namespace fs = std::filesystem;

using test::expect_a_finished_loop;
using test::expect_nothing_stays_in;
using test::kTunables;
using test::Repository;
using test::ScratchProject;

std::vector<SentJob> jobs_of(const Repository& project) {
  return JobTable(project.folder() / ".dent").list();
}

// Every gate that ran kernels or compilers is a job's, and each job is there once.
void expect_measured_elsewhere(const Repository& project) {
  for (const Record& record : project.records()) {
    const auto* gate = record.as<record::Gate>();
    if (gate != nullptr) {
      EXPECT_FALSE(record.job.empty()) << gate->step;
    }
  }
  std::map<std::string, int> parts;
  for (const SentJob& sent : jobs_of(project)) {
    ASSERT_TRUE(sent.job().part.has_value());
    ++parts[sent.job().part->name];
    EXPECT_EQ(sent.status().state, JobState::succeeded) << sent.job().part->name << ": " << sent.status().why;
  }
  for (const auto& [part, count] : parts) EXPECT_EQ(count, 1) << part;
}

// Of the whole session, while it is at work: so many of a kind of record.
template <class Kind>
int count_of(const Repository& project) {
  const auto sessions = SessionStore(project.folder()).list();
  if (sessions.empty() || !fs::exists(sessions.back().ledger())) return 0;
  int count = 0;
  for (const Record& record : read_ledger(sessions.back().ledger()).records)
    count += record.as<Kind>() != nullptr ? 1 : 0;
  return count;
}

TEST(OptimizeOn, ClimbsByJobsAloneAndLeavesTheTreeAlone) {
  const Repository project(kTunables, true, true);
  project.make_dirty();
  const auto before = project.everything();
  const auto ran = project.dent({"optimize", "-q", "--json", "-n", "4", "--on", "local"}, 600);
  ASSERT_EQ(ran.code, 0) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "FASTER");
  EXPECT_EQ(ran.json().at("choice").at("tunables").at("SPIN"), "1") << project.outcomes();
  EXPECT_EQ(project.changes_since(before), "");
  expect_a_finished_loop(project);
  expect_measured_elsewhere(project);
  EXPECT_FALSE(fs::exists(project.folder() / ".dent" / "sent"));
  bool unread_seen = false;
  for (const Iteration& iteration : state_of(project.records()).iterations)
    unread_seen = unread_seen || iteration.outcome->reason.find("same program") != std::string::npos;
  EXPECT_TRUE(unread_seen) << project.outcomes();  // the incumbent's hash comes from the job
  const auto session = SessionFacts(project.records());
  EXPECT_EQ(session.session().baseline, "slow");
  EXPECT_TRUE(session.environment().has_value());
  EXPECT_NE(project.git({"show", state_of(project.records()).branch + ":tuned.toml"}).find("SPIN = '1'"),
            std::string::npos);
}

TEST(OptimizeOn, AKilledCoordinatorFindsItsJobsAgain) {
  const Repository project("[tunables]\nSPIN = [64, 1]\nBROKEN = [0, 1]\n", true, true);
  project.make_dirty();
  const auto before = project.everything();
  std::mt19937 random(18);
  std::uniform_int_distribution<int> moment(50, 1200);
  int kills = 0;
  for (bool ended = false; !ended; ++kills) {
    ASSERT_LT(kills, 60);
    const bool begun = count_of<record::Loop>(project) > 0;
    const auto arguments = begun ? std::vector<std::string>{"resume", "-q"}
                                 : std::vector<std::string>{"optimize", "-q", "-n", "2", "--on", "local"};
    ended =
        project.run_for(arguments, kills < 12 ? moment(random) : 120000, ScratchProject::Kill::dent_alone);
  }
  EXPECT_GE(kills, 4) << project.read("log");
  EXPECT_EQ(project.changes_since(before), "");
  expect_a_finished_loop(project);
  expect_measured_elsewhere(project);
  const LoopState state = state_of(project.records());
  EXPECT_EQ(state.done(), 2) << project.outcomes() << project.read("log");
  expect_nothing_stays_in(project.folder());
}

// As a loop leaves it that was killed behind the last record of its start, before that job's end was on
// record: the folder of the job.
fs::path loop_killed_behind_its_start(const Repository& project) {
  const auto whole = project.dent({"optimize", "-q", "-n", "1", "--on", "local"}, 600);
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  const auto jobs = jobs_of(project);
  EXPECT_EQ(jobs.at(0).job().part->kind, PartKind::start);
  const fs::path ledger = SessionStore(project.folder()).find("latest").ledger();
  std::istringstream lines(text_of(ledger));
  std::string kept;
  for (const Record& record : project.records()) {
    if (record.as<record::Job>() != nullptr) break;
    std::string line;
    std::getline(lines, line);
    kept += line + "\n";
  }
  std::ofstream(ledger) << kept;
  fs::remove(seal_of(ledger));  // as if what came after had never been written
  fs::remove_all(ledger.parent_path() / "artifacts");
  fs::remove(jobs[0].folder() / "status.json");
  for (std::size_t i = 1; i < jobs.size(); ++i) fs::remove_all(jobs[i].folder());
  return jobs[0].folder();
}

const std::string kOneChange = "[tunables]\nSPIN = [1]\nBROKEN = [0, 1]\n";

TEST(OptimizeOn, AJobWhoseEndWasMissedIsSeenThrough) {
  const Repository project(kOneChange, true, true);
  const auto job = loop_killed_behind_its_start(project);
  const auto more = project.dent({"resume", "-q"}, 600);
  EXPECT_EQ(more.code, 0) << more.out << more.err;
  expect_a_finished_loop(project);
  expect_measured_elsewhere(project);
  const fs::path artifacts = SessionStore(project.folder()).find("latest").artifacts();
  for (const auto& entry : fs::directory_iterator(job / "artifacts"))
    EXPECT_TRUE(fs::exists(artifacts / entry.path().filename())) << entry.path();
}

// Its records are all in: what went wrong behind them stops nothing.
TEST(OptimizeOn, AJobWhoseEndWasMissedAndWentWrongIsDoneWithout) {
  const Repository project(kOneChange, true, true);
  const auto job = loop_killed_behind_its_start(project);
  std::ofstream(job / "exit_code") << "3\n";
  const auto more = project.dent({"resume"}, 600);
  EXPECT_EQ(more.code, 0) << more.out << more.err;
  EXPECT_NE((more.out + more.err).find("on local is FAILED"), std::string::npos) << more.out << more.err;
  expect_a_finished_loop(project);
  EXPECT_EQ(SentJob(job).status().state, JobState::failed);
}

TEST(OptimizeOn, WorkThatIsTakenAwayIsCode14AndGoesOn) {
  const Repository project("[tunables]\nSPIN = [64, 1]\nBROKEN = [0]\n", true, true);
  Process process({.argv = project.command({"optimize", "-q", "-n", "1", "--on", "local"}),
                   .log = project.folder() / "log"});
  while (!process.poll() && count_of<record::Iteration>(project) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < 10000 && !process.poll(); ++i) {  // the evaluation's job, once it is at work
    const auto all = jobs_of(project);
    if (!all.empty() && all.back().job().part->kind == PartKind::evaluation &&
        !text_of(all.back().folder() / "ledger.jsonl").empty()) {
      const auto doer = parse_json(text_of(all.back().folder() / "process.json"));
      ::kill(doer.at("process").get<pid_t>(), SIGTERM);  // as a cloud says that it takes the machine away
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Ending ending = process.wait(120);
  ASSERT_EQ(ending.kind, Ending::Kind::exited);
  EXPECT_EQ(ending.code, 14) << project.read("log");
  EXPECT_EQ(count_of<record::Verdict>(project), 0);
  const auto more = project.dent({"resume", "-q", "--json"}, 600);
  EXPECT_EQ(more.code, 0) << more.out << more.err;
  expect_measured_elsewhere(project);
}

TEST(OptimizeOn, AWrongStartPassesItsCodeThrough) {
  const Repository project("[tunables]\nSPIN = [64, 1]\nBROKEN = [1, 0]\n", true, true);
  const auto ran = project.dent({"optimize", "-q", "--json", "--on", "local"}, 600);
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "INCORRECT");
}

TEST(OptimizeOn, AJobThatCanNotBeginSaysWhyAndIsSentAgainWhenThatIsMended) {
  const Repository project(
      "[tunables]\nSPIN = [64, 1]\nBROKEN = [0]\n"
      "[executor.broken]\nkind = \"local\"\nsetup = \"test -e ../../../mended\"\n",
      true, true);
  const auto ran = project.dent({"optimize", "-q", "-n", "1", "--on", "broken"}, 600);
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("setup"), std::string::npos) << ran.err;
  project.write("mended", "");
  const auto more = project.dent({"resume", "-q"}, 600);
  EXPECT_EQ(more.code, 0) << more.out << more.err;
  EXPECT_EQ(project.dent({"optimize", "-q", "--on", "brokn"}).code, 2);
}

TEST(EvaluateOn, OneChangeAfterTheOtherInOneSession) {
  const Repository project(kTunables, true, true);
  project.write(
      "wrong.json",
      R"({"bottleneck": "b", "change": "wrong", "expected": "e", "tunable": "BROKEN", "value": "1"})");
  project.write("less.json",
                R"({"bottleneck": "b", "change": "less", "expected": "e", "tunable": "SPIN", "value": "1"})");
  const auto wrong = project.dent(
      {"evaluate", "-q", "--json", "--proposal", project.folder() / "wrong.json", "--on", "local"}, 600);
  EXPECT_EQ(wrong.code, 5) << wrong.out << wrong.err;
  EXPECT_EQ(wrong.json().at("stage"), "correctness");
  const auto less = project.dent(
      {"evaluate", "-q", "--json", "--proposal", project.folder() / "less.json", "--session", "latest"}, 600);
  EXPECT_EQ(less.code, 0) << less.out << less.err;
  EXPECT_EQ(less.json().at("choice").at("tunables").at("SPIN"), "1");
  expect_measured_elsewhere(project);
  // Whose executor is on record can't be moved.
  EXPECT_EQ(project
                .dent({"evaluate", "-q", "--proposal", project.folder() / "less.json", "--session", "latest",
                       "--on", "elsewhere"})
                .code,
            2);
}

}  // namespace
}  // namespace dent::elsewhere_test

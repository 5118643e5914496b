// SPDX-License-Identifier: MIT
// Machines that come and go: what they are is in a file, and every start and stop is written down.
#include <gtest/gtest.h>

#include "executors/scratch_job.h"
#include "executors/sent_session.h"
#include "support/fixture.h"

namespace dent::machine_test {
namespace {

using test::expect_nothing_lost_nothing_twice;
using test::Fixture;
using test::kInstant;
using test::ScratchJob;
using test::ScratchProject;
using test::wait_for_records;

constexpr double kIdleSeconds = 0.6;
const std::string kHere = "kind = \"local\"\nusd_per_hour = 3600\n";  // a second costs a dollar

class MachineProject : public ScratchProject {
 public:
  explicit MachineProject(const std::string& executor = kHere) {
    const std::string in = "cd '" + folder().string() + "'; ";
    write_scale_manifest(
        "right", kInstant + "[executor.it]\n" + executor + "[executor.it.machine]\nidle_minutes = " +
                     std::to_string(kIdleSeconds / 60) + "\nstatus = \"" + in + "cat state\"\nstart = \"" +
                     in + "echo start >> calls; [ -e taken ] || echo RUNNING > state\"\nstop = \"" + in +
                     "echo stop >> calls; echo TERMINATED > state\"\n");
    write("state", "TERMINATED\n");
  }
  std::string before() const { return "XDG_CACHE_HOME='" + folder().string() + "/cache'"; }
  std::string calls() const { return read("calls"); }
  std::vector<record::Uptime> uptimes() const {
    std::vector<record::Uptime> found;
    for (const Record& record : read_ledger(SessionStore(folder()).find("latest").ledger()).records)
      if (const auto* uptime = record.as<record::Uptime>()) found.push_back(*uptime);
    return found;
  }
  // It was stopped, and the idle time before that is on record too.
  bool is_paid_for() const {
    for (int i = 0; i < 3000 && (uptimes().empty() || uptimes().back().end != UptimeTo::stopped); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return uptimes().back().end == UptimeTo::stopped;
  }
  bool stops() const {
    for (int i = 0; i < 1000 && calls().find("stop") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return calls().find("stop") != std::string::npos;
  }
};

TEST(Machine, IsStartedForWorkKeptMeanwhileAndStoppedWhenIdle) {
  const MachineProject project;
  ScratchJob::hold(project);
  const auto sent = project.dent({"check", "--on", "it", "--detach"}, 120, project.before());
  ASSERT_EQ(sent.code, 0) << sent.err;
  EXPECT_EQ(project.calls(), "start\n");
  std::this_thread::sleep_for(std::chrono::duration<double>(3 * kIdleSeconds));
  EXPECT_EQ(project.calls(), "start\n") << "a job runs there, though nobody watches it";
  project.write("go", "");
  const auto ran = project.dent({"attach", "--json"}, 120, project.before());
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  expect_nothing_lost_nothing_twice(project);
  EXPECT_TRUE(project.stops());
  ASSERT_TRUE(project.is_paid_for());
  const auto uptimes = project.uptimes();
  EXPECT_EQ(uptimes.front().begin, UptimeFrom::started);
  double seconds = 0;
  for (std::size_t i = 0; i < uptimes.size(); ++i) {  // no gap, and nothing twice
    seconds += uptimes[i].seconds;
    if (i > 0) {
      EXPECT_EQ(uptimes[i].from, uptimes[i - 1].to);
    }
  }
  EXPECT_GT(seconds, 3 * kIdleSeconds + kIdleSeconds);  // while it was held, and while it was idle
  const auto cost = project.dent({"cost", "--json"}, 60, project.before()).json().at("sessions")[0];
  EXPECT_NEAR(cost.at("machine_s").get<double>(), seconds, 0.001);
  EXPECT_NEAR(cost.at("usd").at("device").get<double>(), seconds, 0.001);
  EXPECT_EQ(project.dent({"machine", "it"}, 60, project.before()).out, "TERMINATED\n");
}

TEST(Machine, FoundRunningIsPaidForFromThenOnAndTheReportSaysSo) {
  const MachineProject project;
  project.write("state", "RUNNING\n");
  const auto ran = project.dent({"check", "--on", "it"}, 120, project.before());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("was found running; its time counts from now on"), std::string::npos) << ran.err;
  ASSERT_TRUE(project.is_paid_for());
  EXPECT_EQ(project.uptimes().front().begin, UptimeFrom::found_running);
  EXPECT_EQ(project.calls(), "stop\n");
  const auto report = text_of(SessionStore(project.folder()).find("latest").folder / "report.md");
  EXPECT_NE(report.find("it was already running, for an unknown time"), std::string::npos) << report;
}

TEST(Machine, ThatDoesNotComeUpIsAnErrorWithWhatItSaid) {
  const MachineProject project;
  project.write("dent.toml", project.read("dent.toml"));
  std::string manifest = project.read("dent.toml");
  const std::string start = "echo start >> calls; [ -e taken ] || echo RUNNING > state";
  manifest.replace(manifest.find(start), start.size(), "echo no L4 to be had >&2; exit 1");
  project.write("dent.toml", manifest);
  const auto ran = project.dent({"check", "--on", "it"}, 120, project.before());
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("no L4 to be had"), std::string::npos) << ran.err;
}

TEST(Machine, TakenAwayInMidRunIsStartedAgainAndTheReportSaysSo) {
  Fixture server("ssh_server.py");
  if (!server.missing().empty()) GTEST_SKIP() << server.missing();
  const MachineProject project("kind = \"ssh\"\nhost = \"box\"\nssh_config = \"" + server.fact("config") +
                               "\"\nworkdir = \"" + server.fact("disk") + "\"\n");
  ScratchJob::hold(project);
  Process dent({.argv = project.command({"check", "--on", "it"}),
                .environment = {{"XDG_CACHE_HOME", (project.folder() / "cache").string()}},
                .log = project.folder() / "log"});
  wait_for_records(project, 3);
  project.write("taken", "");
  project.write("state", "TERMINATED\n");
  server.tell("lose");
  for (int i = 0; i < 1000 && project.calls() != "start\nstart\n"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(project.calls(), "start\nstart\n") << project.read("log");
  server.tell("back");
  project.write("state", "RUNNING\n");
  project.write("go", "");
  const Ending ending = dent.wait(60);
  EXPECT_EQ(ending.code, 0) << project.read("log");
  expect_nothing_lost_nothing_twice(project);
  const auto report = text_of(SessionStore(project.folder()).find("latest").folder / "report.md");
  EXPECT_NE(report.find("the machine was taken away"), std::string::npos) << report;
  EXPECT_TRUE(project.stops());
  ASSERT_TRUE(project.is_paid_for());
  const auto uptimes = project.uptimes();
  EXPECT_EQ(uptimes.front().end, UptimeTo::taken_away);
  ASSERT_GT(uptimes.size(), 1U);
  EXPECT_EQ(uptimes[1].begin, UptimeFrom::started);
  EXPECT_LE(uptimes[0].to, uptimes[1].from);  // UTC sorts as text
}

}  // namespace
}  // namespace dent::machine_test

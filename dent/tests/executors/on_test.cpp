// SPDX-License-Identifier: MIT
// dent run --on: the same session as here, whoever dies on the way.
#include <gtest/gtest.h>

#include <random>

#include "executors/job_table.h"
#include "executors/scratch_job.h"
#include "executors/sent_session.h"

namespace dent::on_test {
namespace {

using test::expect_nothing_lost_nothing_twice;
using test::kInstant;
using test::ScratchJob;
using test::ScratchProject;

TEST(On, TheSameSessionAsHere) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant);
  const auto ran = project.dent({"check", "--on", "local", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "PASS");
  EXPECT_EQ(ran.json().at("command"), "check");
  expect_nothing_lost_nothing_twice(project);
  const auto again = project.dent({"resume", "--json"});  // it has come to its end
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(On, TheExitCodePassesThrough) {
  const ScratchProject project;
  project.write_scale_manifest("wrong", kInstant);
  const auto ran = project.dent({"check", "--on", "local", "--json"});
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "INCORRECT");
}

TEST(On, AJobThatCanNotBeginSaysWhy) {
  const ScratchProject project;
  project.write_scale_manifest("right",
                               kInstant + "[executor.broken]\nkind = \"local\"\nsetup = \"exit 3\"\n");
  const auto ran = project.dent({"check", "--on", "broken"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("setup"), std::string::npos) << ran.err;
}

TEST(On, UnknownNamesAndMistakesAreErrorsWithARemedy) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + "[executor.gpu-box]\nkind = \"ssh\"\nhost = \"x\"\n");
  const auto unknown = project.dent({"check", "--on", "gpu-bx"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean \"gpu-box\"?"), std::string::npos) << unknown.err;
  EXPECT_EQ(project.dent({"check", "--detach"}).code, 2);
  EXPECT_EQ(project.dent({"attach"}).code, 2);  // there is no job
}

TEST(On, DetachedThenListedAttachedAndCancelled) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant);
  ScratchJob::hold(project);
  const auto sent = project.dent({"check", "--on", "local", "--detach", "--json"});
  ASSERT_EQ(sent.code, 0) << sent.out << sent.err;
  const std::string id = sent.json().at("job");
  auto jobs = project.dent({"jobs", "--json"}).json().at("jobs");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].at("job"), id);
  EXPECT_EQ(jobs[0].at("state"), "RUNNING");
  const auto logged = project.dent({"log", "--json"}).json().at("sessions")[0];
  EXPECT_EQ(logged.at("verdict"), "RUNNING");
  EXPECT_EQ(logged.at("reason"), "on local (job " + id.substr(0, 8) + ")");
  EXPECT_EQ(project.dent({"cancel", id.substr(0, 8)}).code, 0);
  const auto cancelled = project.dent({"attach", id, "--json"});
  EXPECT_EQ(cancelled.code, 14) << cancelled.out << cancelled.err;
  EXPECT_EQ(project.dent({"jobs", "--json"}).json().at("jobs")[0].at("state"), "CANCELLED");
  EXPECT_EQ(project.dent({"log", "--json"}).json().at("sessions")[0].at("verdict"), "INTERRUPTED");

  project.write("go", "");
  const auto second = project.dent({"check", "--on", "local", "--detach", "--json"});
  ASSERT_EQ(second.code, 0) << second.err;
  const auto attached = project.dent({"attach", "--json"});
  EXPECT_EQ(attached.code, 0) << attached.out << attached.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(On, ACoordinatorThatIsKilledAgainAndAgainLosesNothing) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant);
  ScratchJob::hold(project);
  std::mt19937 random(18);
  std::uniform_int_distribution<int> moment(1, 200);
  while (JobTable(project.folder() / ".dent").list().empty())  // sooner or later it comes to sending
    project.run_for({"check", "-q", "--on", "local"}, 100 + moment(random));
  for (int kill = 0; kill < 20; ++kill) {
    if (kill == 12) project.write("go", "");
    project.run_for({"attach", "-q"}, moment(random));
  }
  const auto last = project.dent({"attach", "--json"});
  EXPECT_EQ(last.code, 0) << last.out << last.err;
  expect_nothing_lost_nothing_twice(project);
  EXPECT_EQ(JobTable(project.folder() / ".dent").list().size(), 1U);
}

TEST(On, OneExecutorInTheUsersConfigServesEveryProject) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant);
  std::filesystem::create_directories(project.folder() / "dent");
  project.write("dent/config.toml", "[executor.here]\nkind = \"local\"\n");
  const std::string home = "XDG_CONFIG_HOME='" + project.folder().string() + "'";
  EXPECT_EQ(project.dent({"check", "-q", "--on", "here"}, 120, home).code, 0);
  const auto listed = project.dent({"executors", "--json"}, 120, home).json().at("executors");
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].at("name"), "here");
  EXPECT_EQ(listed[0].at("state"), "ready");
  project.write("dent/config.toml", "[executor.here]\nkind = \"locale\"\n");
  const auto wrong = project.dent({"executors"}, 120, home);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("config.toml, line 2"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace dent::on_test

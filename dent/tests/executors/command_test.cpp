// SPDX-License-Identifier: MIT
// Launchers by templates. Stand-ins take the arguments of the real ones and really run what they are given;
// the executors are those of dent/docs/executors.md.
#include "executors/command.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "executors/scratch_job.h"
#include "executors/sent_session.h"

namespace dent::command_test {
namespace {

using test::expect_nothing_lost_nothing_twice;
using test::kInstant;
using test::ScratchJob;
using test::ScratchProject;
namespace fs = std::filesystem;

TEST(Templates, EachNameIsOneWordWhateverIsInIt) {
  const std::string line = filled_in("printf '%s|' {command} {job} ${x:-{}} {tree}/x",
                                     {{"command", "it's; \"$HOME\""}, {"job", "a b"}, {"tree", "/a b"}});
  EXPECT_EQ(run({.argv = {"/bin/sh", "-c", line}, .log = "/dev/null"}, 10).ending.code, 0);
  EXPECT_EQ(line, "printf '%s|' 'it'\\''s; \"$HOME\"' 'a b' ${x:-{}} '/a b'/x");
  EXPECT_THROW(filled_in("{comand}", {{"command", ""}}), Error);
}

TEST(Templates, OtherSystemsWordsAreUnderstood) {
  const std::pair<const char*, JobState> words[] = {{"INIT", JobState::pending},
                                                    {"SETTING_UP", JobState::pending},
                                                    {"RUNNING", JobState::running},
                                                    {"RECOVERING", JobState::running},
                                                    {"SUCCEEDED", JobState::succeeded},
                                                    {"Complete", JobState::succeeded},
                                                    {"FAILED_SETUP", JobState::failed},
                                                    {"Failed", JobState::failed},
                                                    {"CANCELLED", JobState::cancelled},
                                                    {"STOPPED", JobState::cancelled},
                                                    {"PREEMPTED", JobState::preempted},
                                                    {"TIMEOUT", JobState::timeout},
                                                    {"DeadlineExceeded", JobState::timeout}};
  for (const auto& [word, state] : words) EXPECT_EQ(name(state_of_word(word)), name(state)) << word;
}

std::string executor(const std::string& keys) {
  return "[executor.it]\nkind = \"command\"\ndent = \"" DENT_PROGRAM "\"\n" + keys;
}

TEST(Launcher, ThatSeesOurFilesNeedsNoMoreThanStart) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + executor("start = \"sh -c {command}\"\n"));
  const auto ran = project.dent({"check", "--on", "it", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(Launcher, ThatMapsExitCodesAndPutsWordsInFrontOfLinesIsUnderstood) {
  const ScratchProject project;
  project.write_scale_manifest(
      "wrong",
      kInstant + executor("start = \"(sh -c {command} || exit 100) | sed -u 's/^/(task, pid=7) /'\"\n"));
  const auto ran = project.dent({"check", "--on", "it", "--json"});
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
}

TEST(Launcher, ThatFailsIsQuoted) {
  const ScratchProject project;
  project.write_scale_manifest(
      "right", kInstant + executor("start = \"echo no such cluster >&2; exit 9; {command}\"\n"));
  const auto ran = project.dent({"check", "--on", "it"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("no such cluster"), std::string::npos) << ran.err;
}

TEST(Launcher, ThatIsKilledGoesOnByAttach) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + executor("start = \"sh -c {command}\"\n"));
  ScratchJob::hold(project);
  ASSERT_EQ(project.dent({"check", "--on", "it", "--detach"}).code, 0) << project.read("stderr");
  const auto jobs = project.dent({"jobs", "--json"}).json().at("jobs");
  EXPECT_EQ(jobs[0].at("state"), "RUNNING");
  EXPECT_EQ(project.dent({"cancel"}).code, 0) << project.read("stderr");
  EXPECT_EQ(project.dent({"attach"}).code, 14) << project.read("stderr");
  EXPECT_EQ(project.dent({"jobs", "--json"}).json().at("jobs")[0].at("state"), "CANCELLED");
}

// A launcher that only submits. Its job is in a session of its own, and prints into a file.
std::string submitting(const ScratchProject& project) {
  const std::string in = "cd '" + project.folder().string() + "'; ";
  return executor("start = \"" + in +
                  "echo submit >> calls; echo job-7; rm -f begun; "
                  "setsid sh -c 'touch begun; exec sh -c \\\"$0\\\"' {command} > out 2>&1 & "
                  "while [ ! -e begun ]; do sleep 0.01; done\"\n" +
                  "follow = \"" + in + "echo {id} >> ids; cat out\"\n" + "state = \"" + in +
                  "grep -q '^{.state' out && echo done || echo running\"\n");
}

TEST(Launcher, ThatOnlySubmitsIsFollowedUntilTheJobHasEnded) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + submitting(project));
  ScratchJob::hold(project);
  ASSERT_EQ(project.dent({"check", "--on", "it", "--detach"}).code, 0) << project.read("stderr");
  EXPECT_EQ(project.dent({"jobs", "--json"}).json().at("jobs")[0].at("state"), "RUNNING");
  Process attached({.argv = project.command({"attach"}), .log = project.folder() / "log"});
  test::wait_for_records(project, 3);  // while it runs
  project.write("go", "");
  EXPECT_EQ(attached.wait(120).code, 0) << project.read("log");
  expect_nothing_lost_nothing_twice(project);
  EXPECT_EQ(project.read("calls"), "submit\n");
  EXPECT_EQ(project.read("ids").substr(0, 6), "job-7\n");
}

TEST(Launcher, ThatOnlySubmitsSubmitsAnInterruptedJobAgain) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + submitting(project));
  ScratchJob::hold(project);
  ASSERT_EQ(project.dent({"check", "--on", "it", "--detach"}).code, 0) << project.read("stderr");
  const fs::path job = JobTable(project.folder() / ".dent").list().front().folder();
  for (int i = 0; i < 3000 && !fs::exists(job / "process.json"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(nlohmann::json::parse(text_of(job / "process.json")).at("process"), SIGTERM);
  EXPECT_EQ(project.dent({"attach"}).code, 14) << project.read("stderr");
  project.write("go", "");
  const auto second = project.dent({"attach"});
  EXPECT_EQ(second.code, 0) << second.out << second.err;
  EXPECT_EQ(project.read("calls"), "submit\nsubmit\n");
  expect_nothing_lost_nothing_twice(project);
}

// The TOML blocks of the page, each with its launcher's stand-in.
class OfThePage : public testing::TestWithParam<const char*> {};

TEST_P(OfThePage, Works) {
  const std::string page = text_of(DENT_EXECUTORS_PAGE);
  const std::string heading = std::string("[executor.") + GetParam() + "]\n";
  const std::size_t begin = page.find(heading);
  ASSERT_NE(begin, std::string::npos);
  const std::string block = page.substr(begin, page.find("```", begin) - begin);
  const ScratchProject project;
  project.write_scale_manifest("right", kInstant + block);
  // What the launcher's machine has for a home, and where the stand-ins lie.
  const fs::path home = project.folder() / "their home";
  fs::create_directories(home);
  const std::string environment = "STAND_IN_HOME='" + home.string() +
                                  "' STAND_IN_DENT=" DENT_PROGRAM " PATH='" DENT_LAUNCHERS "':\"$PATH\"";
  const auto ran = project.dent({"check", "--on", GetParam(), "--json"}, 120, environment);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err << block;
  expect_nothing_lost_nothing_twice(project);
}
INSTANTIATE_TEST_SUITE_P(Executors, OfThePage,
                         testing::Values("gcloud", "sky", "docker", "kubectl", "kube-job"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace dent::command_test

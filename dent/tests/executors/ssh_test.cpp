// SPDX-License-Identifier: MIT
// Sessions on another machine, by a real sshd that is cut off, killed, lost and filled.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "executors/scratch_job.h"
#include "executors/sent_session.h"
#include "support/fixture.h"

namespace dent::ssh_test {
namespace {

using test::expect_nothing_lost_nothing_twice;
using test::Fixture;
using test::kInstant;
using test::ScratchJob;
using test::ScratchProject;
using test::wait_for_records;
namespace fs = std::filesystem;

// A project with an executor `box` whose work folder has a blank and a quote in its name.
class SshProject : public ScratchProject {
 public:
  explicit SshProject(const Fixture& server, const std::string& more = {}, const std::string& entry = "right")
      : work_(fs::path(server.fact("disk")) / "a user's work") {
    write_scale_manifest(entry, kInstant + "[executor.box]\nkind = \"ssh\"\nhost = \"box\"\nssh_config = \"" +
                                    server.fact("config") + "\"\nworkdir = \"" + work_.string() + "\"\n" +
                                    more);
  }
  const fs::path& work() const { return work_; }
  fs::path tree() const {
    for (const auto& project : fs::directory_iterator(work_ / "projects")) return project.path() / "tree";
    return {};
  }

 private:
  fs::path work_;
};

#define NEED(server) \
  if (!(server).missing().empty()) GTEST_SKIP() << (server).missing()

TEST(Ssh, TheSameSessionAsHereAndDentIsBroughtOnce) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  for (int round = 0; round < 2; ++round) {
    const auto ran = project.dent({"check", "--on", "box", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.json().at("verdict"), "PASS");
    expect_nothing_lost_nothing_twice(project);
    const auto programs = fs::directory_iterator(project.work() / "programs");
    EXPECT_EQ(std::distance(begin(programs), end(programs)), 1);
  }
  const SessionFolder session = SessionStore(project.folder()).find("latest");
  EXPECT_FALSE(fs::is_empty(session.artifacts())) << "what it left there came back";
  EXPECT_EQ(project.dent({"executors", "--json"})
                .json()
                .at("executors")[0]
                .at("state")
                .get<std::string>()
                .find("ready"),
            0U);
}

TEST(Ssh, ALoopIsMeasuredThereTwoCandidatesAtATime) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server,
                           "[[variants]]\nname = \"other\"\nphase = \"compute\"\nentry = \"right\"\n"
                           "[[variants]]\nname = \"bad\"\nphase = \"compute\"\nentry = \"wrong\"\n");
  const auto ran = project.dent({"optimize", "-n", "2", "--on", "box", "--parallel", "2", "--json"}, 400);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  int outcomes = 0;
  for (const Record& record : read_ledger(SessionStore(project.folder()).find("latest").ledger()).records) {
    const auto* gate = record.as<record::Gate>();
    if (gate != nullptr) {
      EXPECT_FALSE(record.job.empty()) << gate->step;
    }
    outcomes += record.as<record::Outcome>() != nullptr ? 1 : 0;
  }
  EXPECT_EQ(outcomes, 2) << ran.out << ran.err;
  const auto jobs = project.dent({"jobs", "--json"}).json().at("jobs");
  for (const auto& job : jobs) EXPECT_EQ(job.at("state"), "SUCCEEDED") << job;
  const auto trees = fs::directory_iterator(project.work() / "projects");
  EXPECT_EQ(std::distance(begin(trees), end(trees)), 1);
}

TEST(Ssh, WhereItDoesNotRunItIsBuilt) {
  if (std::getenv("DENT_SLOW_TESTS") == nullptr)
    GTEST_SKIP() << "builds dent, which takes minutes: DENT_SLOW_TESTS=1 asks for it";
  Fixture server("ssh_server.py", {"--foreign"});
  NEED(server);
  const SshProject project(server);
  for (const bool first : {true, false}) {
    const auto ran = project.dent({"check", "--on", "box", "--json"}, 3600);
    ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.err.find("it is built there, once") != std::string::npos, first) << ran.err;
    expect_nothing_lost_nothing_twice(project);
  }
}

TEST(Ssh, ABuildThereThatFailsShowsItsLastWordsAndItsLog) {
  Fixture server("ssh_server.py", {"--foreign"});
  NEED(server);
  const fs::path cmake = fs::path(server.fact("far_bin")) / "cmake";
  std::ofstream(cmake) << "#!/bin/sh\necho 'No CMAKE_CXX_COMPILER could be found.'\nexit 1\n";
  fs::permissions(cmake, fs::perms::owner_exec, fs::perm_options::add);
  const SshProject project(server);
  const auto ran = project.dent({"check", "--on", "box"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("can't build dent on box: No CMAKE_CXX_COMPILER"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("build.log"), std::string::npos) << ran.err;
}

TEST(Ssh, TheExitCodePassesThrough) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server, "", "wrong");
  const auto ran = project.dent({"check", "--on", "box", "--json"});
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
}

TEST(Ssh, TheTreeIsTheSameWhateverFilesAreCalledAndGoesOnBeingSo) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  const std::vector<std::string> names{"a blank", "it's \"quoted\"", "two\nlines", "$HOME `id`", "*",
                                       "-rf",     "back\\slash",     "#x; y & z",  "t\tab",      "\xc3\xbc"};
  for (const bool with_rsync : {true, false}) {
    // Where one side has none, tar does it.
    if (!with_rsync) {
      project.write("rsync", "#!/bin/sh\nexit 127\n");
      chmod((project.folder() / "rsync").c_str(), 0755);
    }
    const std::string path = with_rsync ? "" : "PATH='" + project.folder().string() + "':\"$PATH\"";
    for (const std::string& name : names) project.write(name, "first of " + name);
    ASSERT_EQ(project.dent({"preflight", "-q", "--on", "box"}, 120, path).code, 0) << project.read("stderr");
    for (const std::string& name : names) EXPECT_EQ(text_of(project.tree() / name), "first of " + name);
    EXPECT_FALSE(fs::exists(project.tree() / ".dent" / "jobs"));
    // An edit of the same size in the same second, and a file that is gone.
    const auto dated = fs::last_write_time(project.folder() / names[0]);
    project.write(names[0], "later of " + names[0]);
    fs::last_write_time(project.folder() / names[0], dated + std::chrono::milliseconds(3));
    fs::remove(project.folder() / names[1]);
    std::ofstream(project.tree() / "made there") << "x";
    ASSERT_EQ(project.dent({"preflight", "-q", "--on", "box"}, 120, path).code, 0) << project.read("stderr");
    EXPECT_EQ(text_of(project.tree() / names[0]), "later of " + names[0]);
    EXPECT_FALSE(fs::exists(project.tree() / names[1]));
    EXPECT_TRUE(fs::exists(project.tree() / "made there")) << "what a build left there is not ours to remove";
  }
}

TEST(Ssh, ALoginShellThatPrintsIsNoHindrance) {
  Fixture server("ssh_server.py");
  NEED(server);
  std::ofstream(fs::path(server.fact("home")) / ".bashrc") << "echo '  welcome to box'\n";
  const SshProject project(server);
  const auto ran = project.dent({"check", "--on", "box", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(Ssh, InARepositoryIgnoredFilesStayHere) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  project.write(".gitignore", "*.log\n!kept.log\n");
  project.write("other.log", "x");
  project.write("kept.log", "x");
  run({.argv = {"git", "init", "-q", project.folder()}}, 20);
  ASSERT_EQ(project.dent({"preflight", "-q", "--on", "box"}).code, 0) << project.read("stderr");
  EXPECT_TRUE(fs::exists(project.tree() / "kept.log"));
  EXPECT_FALSE(fs::exists(project.tree() / "other.log"));
  EXPECT_FALSE(fs::exists(project.tree() / ".git"));
}

TEST(Ssh, AnUnknownOrChangedHostKeyIsAnErrorWithTheRemedy) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  server.tell("distrust");
  auto ran = project.dent({"check", "--on", "box"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("is not known here"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("ssh box"), std::string::npos) << ran.err;
  server.tell("trust");
  server.tell("kill");
  server.tell("new_host_key");
  server.tell("start");
  ran = project.dent({"check", "--on", "box"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("has changed"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("ssh-keygen -f"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(project.work())) << "nothing ran there";
}

TEST(Ssh, ADroppedConnectionReconnectsAndFindsTheWork) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  ScratchJob::hold(project);
  Process dent({.argv = project.command({"check", "--on", "box"}), .log = project.folder() / "log"});
  for (int round = 0; round < 3; ++round) {
    wait_for_records(project, 3);
    server.tell("drop");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  project.write("go", "");
  const Ending ending = dent.wait(60);
  EXPECT_EQ(ending.code, 0) << project.read("log");
  EXPECT_NE(project.read("log").find("out of reach"), std::string::npos) << project.read("log");
  expect_nothing_lost_nothing_twice(project);
}

TEST(Ssh, ACutLinkHeals) {
  Fixture server("ssh_server.py", {"--network"});
  NEED(server);
  const SshProject project(server);
  ScratchJob::hold(project);
  const std::string line = "exec " + server.fact("near") + " \"$@\"";
  std::vector<std::string> argv{"/bin/sh", "-c", line, "sh"};
  for (const std::string& word : project.command({"check", "--on", "box"})) argv.push_back(word);
  Process dent({.argv = argv, .log = project.folder() / "log"});
  wait_for_records(project, 3);
  server.tell("cut");
  std::this_thread::sleep_for(std::chrono::seconds(4));
  project.write("go", "");  // it goes on meanwhile
  server.tell("heal");
  const Ending ending = dent.wait(60);
  EXPECT_EQ(ending.code, 0) << project.read("log");
  expect_nothing_lost_nothing_twice(project);
}

TEST(Ssh, ALostMachineIsExitCode14AndAttachGoesOn) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  ScratchJob::hold(project);
  Process dent({.argv = project.command({"check", "--on", "box"}), .log = project.folder() / "log"});
  wait_for_records(project, 3);
  server.tell("lose");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  server.tell("back");
  const Ending ending = dent.wait(60);
  EXPECT_EQ(ending.code, 14) << project.read("log");
  EXPECT_NE(project.read("log").find("dent attach"), std::string::npos) << project.read("log");
  project.write("go", "");
  const auto attached = project.dent({"attach", "--json"});
  EXPECT_EQ(attached.code, 0) << attached.out << attached.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(Ssh, AMachineThatComesBackWithoutItsDiskGetsTheJobAgainWithItsRecords) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  ScratchJob::hold(project);
  Process dent({.argv = project.command({"check", "--on", "box"}), .log = project.folder() / "log"});
  wait_for_records(project, 3);
  server.tell("lose");
  fs::remove_all(project.work());
  server.tell("back");
  EXPECT_EQ(dent.wait(120).code, 14) << project.read("log");
  EXPECT_NE(project.read("log").find("has lost its disk"), std::string::npos) << project.read("log");
  project.write("go", "");
  const auto attached = project.dent({"attach", "--json"});
  EXPECT_EQ(attached.code, 0) << attached.out << attached.err;
  expect_nothing_lost_nothing_twice(project);
}

TEST(Ssh, AFullDiskThereIsAClearError) {
  Fixture server("ssh_server.py", {"--disk", "2"});
  NEED(server);
  const SshProject project(server);
  const auto ran = project.dent({"check", "--on", "box"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("No space left"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("workdir"), std::string::npos) << ran.err;
}

TEST(Ssh, AWrongClockThereChangesNothing) {
  Fixture server("ssh_server.py", {"--clock", "3600"});
  NEED(server);
  // The dent there, whose clock stamps records, keeps the wrong one; faketime's library can't start more
  // processes once the login that it came with has ended.
  const SshProject project(server, "envs = { LD_PRELOAD = \"\" }\n");
  const auto ran = project.dent({"check", "--on", "box", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  expect_nothing_lost_nothing_twice(project);
  std::string before;
  for (const Record& record : read_ledger(SessionStore(project.folder()).find("latest").ledger()).records) {
    EXPECT_LE(before, record.time);
    before = record.time;
  }
  const auto hour = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char now[32];
  std::strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S.999Z", std::gmtime(&hour));
  EXPECT_LE(before, now) << "records have our own clock's time";
}

TEST(Ssh, WhatIsInTheEnvironmentIsWrittenNowhere) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(
      server,
      "envs = { TOKEN = \"s3cr3t it's\" }\nsetup = \"printf %s \\\"$TOKEN\\\" | tr a-z A-Z > seen\"\n");
  ASSERT_EQ(project.dent({"preflight", "-q", "--on", "box"}).code, 0) << project.read("stderr");
  EXPECT_EQ(text_of(project.tree() / "seen"), "S3CR3T IT'S");
  const std::string everywhere = "grep -rl s3cr3t '" + project.folder().string() + "/.dent' \"" +
                                 project.work().string() + "/jobs\" " + server.fact("log");
  EXPECT_EQ(run({.argv = {"/bin/sh", "-c", everywhere}}, 20).ending.code, 1);
}

TEST(Ssh, DetachedCancelledAndASecondJobIsRefused) {
  Fixture server("ssh_server.py");
  NEED(server);
  const SshProject project(server);
  ScratchJob::hold(project);
  const auto sent = project.dent({"check", "--on", "box", "--detach"});
  ASSERT_EQ(sent.code, 0) << sent.err;
  const std::string id = sent.out.substr(0, 36);
  const auto second = project.dent({"check", "--on", "box"});
  EXPECT_EQ(second.code, 12) << second.err;
  EXPECT_NE(second.err.find(id), std::string::npos) << second.err;
  EXPECT_EQ(project.dent({"cancel", id}).code, 0) << project.read("stderr");
  EXPECT_EQ(project.dent({"attach", id}).code, 14) << project.read("stderr");
  for (const auto& job : project.dent({"jobs", "--json"}).json().at("jobs")) {
    if (job.at("job") == id) {
      EXPECT_EQ(job.at("state"), "CANCELLED");
    }
  }
}

}  // namespace
}  // namespace dent::ssh_test

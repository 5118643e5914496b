// SPDX-License-Identifier: MIT
// Jobs done by the real dent, and their folders seen from outside.
#include "executors/job_folder.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "executors/job_table.h"
#include "executors/left_running.h"
#include "executors/record_stream.h"
#include "executors/scratch_job.h"
#include "ledger/in_child.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"

namespace dent::job_folder_test {
namespace {

using test::ScratchJob;
namespace fs = std::filesystem;

// Each step ended once, one verdict.
void expect_a_whole_ledger(const fs::path& folder) {
  std::map<std::string, int> gates;
  int verdicts = 0;
  for (const Record& record : read_ledger(folder / "ledger.jsonl").records) {
    if (const auto* gate = record.as<record::Gate>()) ++gates[gate->step];
    verdicts += record.as<record::Verdict>() != nullptr ? 1 : 0;
  }
  EXPECT_EQ(verdicts, 1);
  EXPECT_TRUE(gates.contains("correctness/small"));
  for (const auto& [step, count] : gates) EXPECT_EQ(count, 1) << step;
}

// A loop that was killed leaves its jobs at work, as its resumption needs them. Another measurement would be
// disturbed.
TEST(LeftJobs, KeepAnotherMeasurementWaiting) {
  const test::ScratchFolder project;
  const JobTable jobs(project.path());
  const SentJob single = jobs.create({.command = "run"});
  const SentJob part = jobs.create({.part = LoopPart{.name = "001"}, .session = "20260331-140509-123"});
  EXPECT_NO_THROW(refuse_beside_left_jobs(project.path()));
  const ProjectLock of_single(single.folder());
  EXPECT_NO_THROW(refuse_beside_left_jobs(project.path())) << "a job that the user has sent is no loop's";
  const ProjectLock of_part(part.folder());
  try {
    refuse_beside_left_jobs(project.path());
    FAIL() << "measured beside a job of a killed loop";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::busy);
    EXPECT_NE(std::string(error.what()).find("dent resume 20260331-140509-123"), std::string::npos)
        << error.what();
  }
}

TEST(JobFolder, IsPendingThenDoneAndDoneTwiceIsDoneOnce) {
  const ScratchJob job;
  EXPECT_EQ(status_of(job.folder()).state, JobState::pending);
  EXPECT_EQ(job.dent({}), 0) << job.log();
  expect_a_whole_ledger(job.folder());
  EXPECT_EQ(status_of(job.folder()),
            (JobStatus{.state = JobState::succeeded, .word = "exit code 0", .exit_code = 0}));
  const auto records = read_ledger(job.folder() / "ledger.jsonl").records.size();
  EXPECT_EQ(job.dent({}), 0);
  EXPECT_EQ(read_ledger(job.folder() / "ledger.jsonl").records.size(), records);
}

TEST(JobFolder, TheExitCodeOfAWrongKernelPassesThrough) {
  const ScratchJob job("wrong");
  EXPECT_EQ(job.dent({}), 5) << job.log();
  const JobStatus status = status_of(job.folder());
  EXPECT_EQ(status.state, JobState::failed);
  EXPECT_EQ(status.exit_code, 5);
}

TEST(JobFolder, AnUnreadableJobSaysWhere) {
  const ScratchJob job;
  std::ofstream(job.folder() / "job.json") << "{\"job\":1}";
  EXPECT_EQ(job.dent({}), 2);
  EXPECT_NE(job.log().find("job.json"), std::string::npos) << job.log();
}

// Signals by which a scheduler takes a machine away.
TEST(JobFolder, ASignalFromTheSystemIsExitCode14AndItGoesOn) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const ScratchJob job("right", true);
    Process process({.argv = job.command({}), .log = job.folder() / "log"});
    job.wait_for_records(3);
    ::kill(process.id(), signal);
    const Ending ending = process.wait(30);
    EXPECT_EQ(ending.kind, Ending::Kind::exited);
    EXPECT_EQ(ending.code, 14) << job.log();
    EXPECT_EQ(job.status_at_rest().state, JobState::preempted);
    read_ledger(job.folder() / "ledger.jsonl");  // throws where a record was not dropped whole
    job.let_go();
    EXPECT_EQ(job.dent({}), 0) << job.log();
    expect_a_whole_ledger(job.folder());
  }
}

TEST(JobFolder, RunsInTheBackgroundIsFollowedAndCancelled) {
  const ScratchJob job("right", true);
  start_in_background(job.folder(), DENT_PROGRAM);
  start_in_background(job.folder(), DENT_PROGRAM);  // it runs
  EXPECT_EQ(status_of(job.folder()).state, JobState::running);
  job.wait_for_records(3);
  cancel_job(job.folder());
  RecordStream stream;
  std::int64_t last = 0;
  follow_ledger(
      job.folder() / "ledger.jsonl", [&](std::string_view line) { last = stream.take(line).number; },
      [&] { return status_of(job.folder()).state != JobState::running; });
  EXPECT_GE(last, 3);
  const JobStatus status = status_of(job.folder());
  EXPECT_EQ(status.state, JobState::cancelled);
  EXPECT_EQ(status.exit_code, 14);
  job.let_go();
  start_in_background(job.folder(), DENT_PROGRAM);  // it was taken up again
  follow_ledger(
      job.folder() / "ledger.jsonl", [](std::string_view) {},
      [&] { return status_of(job.folder()).state != JobState::running; });
  EXPECT_EQ(status_of(job.folder()).state, JobState::succeeded) << job.log();
  expect_a_whole_ledger(job.folder());
}

TEST(JobFolder, AKilledProcessIsLostAndARebootIsAPreemption) {
  const ScratchJob job("right", true);
  const fs::path boot = job.folder() / "boot id";
  std::ofstream(boot) << "first\n";
  setenv("DENT_BOOT_ID_FILE", boot.c_str(), 1);
  {
    Process process({.argv = job.command({}), .log = job.folder() / "log"});
    job.wait_for_records(3);
    process.kill(Ending::Kind::signalled);
  }
  while (is_locked(job.folder())) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(status_of(job.folder()).state, JobState::failed);
  EXPECT_EQ(status_of(job.folder()).word, "lost");
  std::ofstream(boot) << "second\n";
  EXPECT_EQ(status_of(job.folder()).state, JobState::preempted);
  job.let_go();
  EXPECT_EQ(job.dent({}), 0) << job.log();
  expect_a_whole_ledger(job.folder());
  unsetenv("DENT_BOOT_ID_FILE");
}

TEST(JobFolder, FollowingStartsAnewWhenATornLineIsCutOff) {
  const ScratchJob job;
  const fs::path ledger = job.folder() / "ledger.jsonl";
  std::ofstream(ledger) << "one\ntw";
  std::vector<std::string> lines;
  int looks = 0;
  follow_ledger(
      ledger, [&](std::string_view line) { lines.emplace_back(line); },
      [&] {
        if (++looks == 1) fs::resize_file(ledger, 4);
        if (looks == 3) std::ofstream(ledger, std::ios::app) << "three\n";
        return looks > 5;
      });
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "one", "three"}));
}

TEST(JobFolder, PrintsItsRecordsForLaunchersThatShowOutputAlone) {
  const ScratchJob job;
  EXPECT_EQ(job.dent({"--records"}), 0);
  RecordStream stream;
  std::istringstream lines(job.log());
  std::int64_t last = 0;
  std::string line, status;
  while (std::getline(lines, line)) {
    if (line.starts_with("{\"schema\"")) last = stream.take(line).number;
    if (line.starts_with("{\"state\"")) status = line;
  }
  EXPECT_EQ(last, static_cast<std::int64_t>(read_ledger(job.folder() / "ledger.jsonl").records.size()));
  EXPECT_NE(status.find("SUCCEEDED"), std::string::npos) << job.log();
}

}  // namespace
}  // namespace dent::job_folder_test

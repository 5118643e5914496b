// SPDX-License-Identifier: MIT
// Slots in processes of their own. In the place of dent they run a shell that does what the job says.
#include "executors/slot.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "base/text.h"
#include "ledger/in_child.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/durable_file.h"

namespace dent::slot_test {
namespace {

namespace fs = std::filesystem;
using test::start_child;
using test::wait_for;

constexpr int kInterrupted = static_cast<int>(ExitCode::interrupted);

class SlotTest : public ::testing::Test {
 protected:
  SlotTest() : queue_(scratch_ / "queue") {
    const fs::path program = scratch_ / "program";
    std::ofstream(program) << "#!/bin/sh\ncd \"$2\" && . ./job.json\n";
    fs::permissions(program, fs::perms::owner_all);
    rules_ = {.program = program.string(), .idle_s = 0.2, .ending_s = 5};
  }

  void put(const std::string& job, const std::string& script) {
    queue_.put(job, [&](const fs::path& work) { std::ofstream(work / "job.json") << script << "\n"; });
  }
  pid_t start(const std::string& slot, int count = 0) {
    fs::create_directories(queue_.slot_folder(slot));
    write_durably(queue_.slot_folder(slot) / "slot.json", to_json_text(rules_));
    return start_child([&, count] { return static_cast<int>(serve_slot(queue_, slot, count)); });
  }
  template <class Condition>
  static void until(const Condition& condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(condition());
  }
  void until_begun(const std::string& job, std::size_t number = 1) {
    until([&] {
      return queue_.tries(job).size() == number && text_of(queue_.tries(job).back().ledger()) != "";
    });
  }

  test::ScratchFolder scratch_;
  JobQueue queue_;
  SlotRules rules_;
};

constexpr const char* kLong = "trap 'kill $!; exit 14' TERM; echo begun >> ledger.jsonl; sleep 100 & wait";

TEST_F(SlotTest, DoesWhatWaitsAndEndsWhenNothingComes) {
  put("1", "exit 0");
  put("2", "exit 5");
  EXPECT_EQ(wait_for(start("slot")), static_cast<int>(SlotEnd::idle));
  EXPECT_EQ(queue_.ended("1")->state, JobState::succeeded);
  EXPECT_EQ(queue_.ended("2")->state, JobState::failed);
  EXPECT_EQ(queue_.ended("2")->exit_code, 5);
  EXPECT_TRUE(fs::exists(queue_.slot_folder("slot") / "left"));
}

TEST_F(SlotTest, ToldToEndItGivesItsJobBackWithItsRecords) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const std::string job = "of signal " + std::to_string(signal);
    put(job, kLong);
    const pid_t slot = start("slot" + std::to_string(signal));
    until_begun(job);
    ::kill(slot, signal);
    EXPECT_EQ(wait_for(slot),
              static_cast<int>(signal == SIGTERM ? SlotEnd::told_to_end : SlotEnd::out_of_time));
    ASSERT_TRUE(queue_.waits(job));
    EXPECT_EQ(queue_.tries(job).back().end->status.state, JobState::preempted);
    EXPECT_EQ(queue_.tries(job).back().end->status.exit_code, kInterrupted);
    const auto next = queue_.take("other");
    ASSERT_TRUE(next);
    EXPECT_EQ(text_of(next->ledger()), "begun\n");
    queue_.remove(job);
  }
}

TEST_F(SlotTest, AJobThatDoesNotEndIsKilled) {
  rules_.ending_s = 0.2;
  put("job", "trap '' TERM; echo begun >> ledger.jsonl; while :; do sleep 1; done");
  const pid_t slot = start("slot");
  until_begun("job");
  ::kill(slot, SIGTERM);
  EXPECT_EQ(wait_for(slot), static_cast<int>(SlotEnd::told_to_end));
  EXPECT_TRUE(queue_.waits("job"));
}

TEST_F(SlotTest, ASecondRunOfTheSameStartDoesNothing) {
  put("job", kLong);
  const pid_t first = start("slot");
  until_begun("job");
  EXPECT_EQ(wait_for(start("slot")), static_cast<int>(SlotEnd::second_run));
  EXPECT_FALSE(queue_.tries("job").back().end);
  ::kill(first, SIGTERM);
  wait_for(first);
}

TEST_F(SlotTest, StartedAgainItTakesUpWhatItWasAt) {
  put("job", "echo begun >> ledger.jsonl; [ $(wc -l < ledger.jsonl) = 2 ] && exit 0; sleep 100");
  const pid_t first = start("slot");
  until_begun("job");
  ::kill(first, SIGKILL);
  wait_for(first);
  EXPECT_FALSE(queue_.waits("job"));
  EXPECT_EQ(wait_for(start("slot", 1)), static_cast<int>(SlotEnd::idle));
  ASSERT_TRUE(queue_.ended("job"));
  EXPECT_EQ(queue_.ended("job")->state, JobState::succeeded);
  EXPECT_EQ(queue_.tries("job").size(), 2u);
}

TEST_F(SlotTest, OneThatWasGivenUpStopsAndLetsTheNextStartGoOn) {
  put("job", kLong);
  const pid_t orphan = start("slot");  // its node was lost from sight, and it lives on
  until_begun("job");
  const pid_t next = start("slot", 1);
  until_begun("job", 2);
  EXPECT_EQ(wait_for(orphan), static_cast<int>(SlotEnd::second_run));
  EXPECT_FALSE(queue_.tries("job").back().end);
  ::kill(next, SIGTERM);
  wait_for(next);
}

TEST_F(SlotTest, AWithdrawnJobIsEnded) {
  put("job", kLong);
  const pid_t slot = start("slot");
  until_begun("job");
  queue_.withdraw("job");
  EXPECT_EQ(wait_for(slot), static_cast<int>(SlotEnd::idle));
  ASSERT_TRUE(queue_.ended("job"));
  EXPECT_EQ(queue_.ended("job")->state, JobState::cancelled);
}

TEST_F(SlotTest, AJobThatIsKilledIsTriedAgainAndGivenUpAtLast) {
  put("killed", "kill -9 $$");
  put("next", "exit 0");
  EXPECT_EQ(wait_for(start("slot")), static_cast<int>(SlotEnd::idle));
  ASSERT_TRUE(queue_.ended("killed"));
  EXPECT_EQ(queue_.ended("killed")->state, JobState::failed);
  EXPECT_EQ(queue_.ended("killed")->exit_code, kInterrupted);
  EXPECT_EQ(queue_.tries("killed").size(), static_cast<std::size_t>(kMostLosses));
  EXPECT_EQ(queue_.ended("next")->state, JobState::succeeded);
}

TEST_F(SlotTest, VariablesReachTheJob) {
  rules_.envs = {"GREETING=good day = hello"};
  put("job", "[ \"$GREETING\" = 'good day = hello' ] && exit 7");
  wait_for(start("slot"));
  EXPECT_EQ(queue_.ended("job")->exit_code, 7);
}

}  // namespace
}  // namespace dent::slot_test

// SPDX-License-Identifier: MIT
#include "executors/queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "ledger/in_child.h"

namespace dent::queue_test {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::start_child;
using test::wait_for;

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }
void add(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}

void put(const JobQueue& queue, const std::string& job) {
  queue.put(job, [&](const fs::path& work) { write(work / "job.json", job); });
}

TryEnd done(int code = 0) { return {.final = true, .status = status_of_exit(code, false)}; }
TryEnd lost(JobState how = JobState::failed) { return {.final = false, .status = {.state = how}}; }

// What a reader gets, until there is nothing new.
std::vector<std::string> read(TryReader& reader, bool& over) {
  std::vector<std::string> lines;
  over = reader.read([&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

using Lines = std::vector<std::string>;

TEST(JobQueue, JobsAreTakenInOrderAndOnceEach) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  for (const char* job : {"2", "1", "3"}) put(queue, job);
  for (const std::string expected : {"1", "2", "3"}) {
    const auto taken = queue.take("slot");
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->job, expected);
    EXPECT_EQ(text_of(taken->folder / "job.json"), expected);
    EXPECT_FALSE(queue.waits(expected));
  }
  EXPECT_FALSE(queue.take("slot"));
}

TEST(JobQueue, AJobThatCanNotBeFilledIsNotThere) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  EXPECT_THROW(queue.put("job", [](const fs::path&) { throw Error(ErrorCode::environment, "no room"); }),
               Error);
  EXPECT_TRUE(queue.jobs().empty());
  EXPECT_TRUE(fs::is_empty(folder / "queue" / "preparing"));
}

TEST(JobQueue, PutTwiceIsPutOnce) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  const auto taken = queue.take("slot");
  ASSERT_TRUE(taken);
  put(queue, "job");
  EXPECT_EQ(queue.tries("job").size(), 1u);
  EXPECT_FALSE(queue.take("slot"));
}

TEST(JobQueue, OfManyWhoTakeAtOnceOneGetsEachJob) {
  constexpr int kJobs = 60, kSlots = 6;
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  for (int i = 0; i < kJobs; ++i) put(queue, std::to_string(100 + i));
  std::vector<pid_t> slots;
  for (int slot = 0; slot < kSlots; ++slot) {
    slots.push_back(start_child([&] {
      while (const auto taken = queue.take(std::to_string(slot))) {
        add(folder / ("taken by " + std::to_string(slot)), taken->job + "\n");
        if (!queue.end(*taken, done())) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t slot : slots) EXPECT_EQ(wait_for(slot), 0);
  std::multiset<std::string> taken;
  for (int slot = 0; slot < kSlots; ++slot) {
    std::ifstream file(folder / ("taken by " + std::to_string(slot)));
    for (std::string job; std::getline(file, job);) taken.insert(job);
  }
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(kJobs));
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()).size(), static_cast<std::size_t>(kJobs));
  for (const std::string& job : queue.jobs()) EXPECT_EQ(queue.tries(job).size(), 1u);
}

TEST(JobQueue, WhoEndsATryFirstDecides) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  const auto taken = queue.take("slot");
  ASSERT_TRUE(taken);
  EXPECT_TRUE(queue.end(*taken, lost()));
  EXPECT_FALSE(queue.end(*taken, done())) << "a slot that was given up has brought a result";
  EXPECT_FALSE(queue.ended("job"));
  const auto again = queue.take("other");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 2);
  EXPECT_TRUE(queue.end(*again, done(5)));
  ASSERT_TRUE(queue.ended("job"));
  EXPECT_EQ(queue.ended("job")->exit_code, 5);
}

TEST(JobQueue, TheNextTryHasTheWholeRecordsOfTheLastOneAndNothingElseOfIt) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  const auto first = queue.take("slot");
  ASSERT_TRUE(first);
  write(first->ledger(), "one\ntwo\nthr");
  write(first->folder / "exit_code", "14");
  fs::create_directory(first->folder / "artifacts");
  write(first->folder / "artifacts" / "log", "kept");
  queue.end(*first, lost());
  const auto second = queue.take("slot");
  ASSERT_TRUE(second);
  EXPECT_EQ(text_of(second->ledger()), "one\ntwo\n");
  EXPECT_EQ(text_of(second->folder / "artifacts" / "log"), "kept");
  EXPECT_FALSE(fs::exists(second->folder / "exit_code"));
}

TEST(JobQueue, AReaderSeesOneLedgerThroughAllTries) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  TryReader reader(queue, "job");
  bool over = true;
  EXPECT_EQ(read(reader, over), Lines{});
  EXPECT_FALSE(over);
  const auto first = queue.take("slot");
  add(first->ledger(), "one\ntw");
  EXPECT_EQ(read(reader, over), Lines{"one"});
  add(first->ledger(), "o\n");
  queue.end(*first, lost());
  add(first->ledger(), "of an orphan\n");  // before the next try: that one goes on from it
  EXPECT_EQ(read(reader, over), Lines{}) << "it may not be in the next try";
  const auto second = queue.take("slot");
  add(first->ledger(), "of an orphan again\n");  // and this it does not know
  EXPECT_EQ(read(reader, over), (Lines{"two", "of an orphan"}));
  add(second->ledger(), "three\n");
  queue.end(*second, done());
  EXPECT_EQ(read(reader, over), Lines{"three"});
  EXPECT_TRUE(over);
  TryReader anew(queue, "job");
  EXPECT_EQ(read(anew, over), (Lines{"one", "two", "of an orphan", "three"}));
}

TEST(JobQueue, AJobThatIsLostTooOftenIsGivenUpAndCanBeOpenedAgain) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kMostLosses; ++i) {
      EXPECT_FALSE(queue.ended("job"));
      queue.end(*queue.take("slot"), lost(JobState::preempted));  // counts nothing
      EXPECT_TRUE(queue.waits("job"));
      queue.end(*queue.take("slot"), lost());
    }
    ASSERT_TRUE(queue.ended("job"));
    EXPECT_EQ(queue.ended("job")->state, JobState::failed);
    EXPECT_FALSE(queue.take("slot"));
    queue.reopen("job");
  }
  EXPECT_TRUE(queue.waits("job"));
}

TEST(JobQueue, AWithdrawnJobIsTakenByNobody) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  put(queue, "open");
  queue.withdraw("job");
  EXPECT_EQ(queue.ended("job")->state, JobState::cancelled);
  const auto open = queue.take("slot");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->job, "open");
  queue.withdraw("open");
  EXPECT_FALSE(queue.ended("open")) << "who does it has not ended";
  EXPECT_TRUE(queue.withdrawn("open"));
}

TEST(JobQueue, ARemovedJobIsGone) {
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  put(queue, "job");
  TryReader reader(queue, "job");
  queue.remove("job");
  queue.remove("job");
  EXPECT_TRUE(queue.jobs().empty());
  EXPECT_FALSE(queue.take("slot"));
  bool over = false;
  read(reader, over);
  EXPECT_TRUE(over);
}

// Slots that are killed at any moment: what they were at is ended by who looks after them, and done by
// others.
TEST(JobQueue, KilledSlotsLoseNothingAndDoNothingTwice) {
  constexpr int kJobs = 40, kKills = 50;
  ScratchFolder folder;
  const JobQueue queue(folder / "queue");
  for (int i = 0; i < kJobs; ++i) put(queue, std::to_string(100 + i));
  std::mt19937 dice(7);
  for (int kill = 0; kill <= kKills; ++kill) {
    const std::string slot = "slot" + std::to_string(kill);
    const pid_t child = start_child([&] {
      while (const auto taken = queue.take(slot)) {
        add(taken->ledger(), "begun by " + slot + "\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        queue.end(*taken, done());
      }
      return 0;
    });
    if (kill < kKills) {
      std::this_thread::sleep_for(std::chrono::microseconds(dice() % 10000));
      ::kill(child, SIGKILL);
    }
    wait_for(child);
    queue.forget_prepared(slot);
    for (const std::string& job : queue.jobs()) {
      const auto all = queue.tries(job);
      if (!all.empty() && !all.back().end) queue.end(all.back(), lost(JobState::preempted));
    }
  }
  for (const std::string& job : queue.jobs()) {
    ASSERT_TRUE(queue.ended(job)) << job;
    const auto all = queue.tries(job);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Try& one) { return one.end->final; }), 1);
  }
  EXPECT_EQ(queue.jobs().size(), static_cast<std::size_t>(kJobs));
  EXPECT_TRUE(fs::is_empty(folder / "queue" / "preparing"));
}

}  // namespace
}  // namespace dent::queue_test

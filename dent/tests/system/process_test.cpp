// SPDX-License-Identifier: MIT
#include "system/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "system/strays.h"

namespace dent::process_test {
namespace {

constexpr double kLong = 120;  // seconds: far more than anything here takes
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class ProcessTest : public testing::Test {
 protected:
  ~ProcessTest() override { std::filesystem::remove(log_); }

  Command shell(const std::string& script) const { return {.argv = {"/bin/sh", "-c", script}, .log = log_}; }

  // Waits for a number that the script prints.
  static pid_t printed_by(const Process& process) {
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < std::chrono::duration<double>(kLong);) {
      const std::string said = process.last_words();
      if (said.find('\n') != std::string::npos) return static_cast<pid_t>(std::stol(said));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw std::runtime_error("the script printed nothing");
  }

  // Waits until its state in /proc/PID/stat is one of these letters; "Z" includes a process that no longer
  // exists. Needed because a signal takes a moment to arrive.
  static bool becomes(pid_t process, std::string_view states) {
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < std::chrono::duration<double>(kLong);) {
      std::ifstream file("/proc/" + std::to_string(process) + "/stat");
      std::string line;
      const char state = std::getline(file, line) ? line[line.rfind(')') + 2] : 'Z';
      if (states.find(state) != std::string_view::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static bool ends(pid_t process) { return becomes(process, "Z"); }

  const std::filesystem::path log_ =
      std::filesystem::temp_directory_path() / ("dent-process-test-" + std::to_string(getpid()) + ".log");
};

// Bubblewrap's inner process dies with the outer one only after it has requested that; here it never does.
TEST_F(ProcessTest, WhatACellHasBegunEndsWithADentThatIsKilled) {
  Command command{.argv = {"true"}, .log = log_};
  command.cell = {"/bin/sh", "-c", "sleep 1000 & echo $!; wait"};
  const pid_t dent = fork();
  if (dent == 0) {
    const Process process(command);
    for (;;) pause();
  }
  pid_t inner = 0;
  while (!(std::ifstream(log_) >> inner)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(dent, SIGKILL);
  waitpid(dent, nullptr, 0);
  EXPECT_TRUE(ends(inner));
}

TEST_F(ProcessTest, TellsHowItEnded) {
  EXPECT_TRUE(run(shell("exit 0"), kLong).ending.clean());
  const Ending status = run(shell("exit 3"), kLong).ending;
  EXPECT_EQ(status.kind, Ending::Kind::exited);
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(describe(status), "exited with status 3");
  const Ending killed = run(shell("kill -SEGV $$"), kLong).ending;
  EXPECT_EQ(killed.kind, Ending::Kind::signalled);
  EXPECT_EQ(killed.code, SIGSEGV);
  EXPECT_THROW(run({.argv = {"/no/such/program"}}, kLong), Error);
}

TEST_F(ProcessTest, ItsTimeLimitEndsWhatItHasStartedToo) {
  Process process(shell("sleep 1000 & echo $!; wait"));
  const pid_t child = printed_by(process);
  EXPECT_EQ(process.wait(0).kind, Ending::Kind::timed_out);
  EXPECT_TRUE(ends(child));
}

TEST_F(ProcessTest, WhatItLeavesInItsGroupEndsWithIt) {
  Process process(shell("sleep 1000 & echo $!"));
  EXPECT_TRUE(process.wait(kLong).clean());
  EXPECT_TRUE(ends(printed_by(process)));
}

TEST_F(ProcessTest, MemoryOfItsChildrenCounts) {
  // The shell itself uses little memory; its child holds 96 MiB of text.
  const std::string holder =
      "(text=$(head -c 100663296 /dev/zero | tr '\\0' x); echo $$; sleep 1000; :) & wait";
  Command limited = shell(holder);
  limited.memory_bytes = 64 * kMiB;
  EXPECT_EQ(run(limited, kLong).ending.kind, Ending::Kind::out_of_memory);

  Command roomy = shell(holder);
  roomy.memory_bytes = 4096 * kMiB;
  Process process(roomy);
  printed_by(process);
  EXPECT_FALSE(process.over_memory());
  EXPECT_FALSE(process.poll());
}

TEST_F(ProcessTest, StraysAreFoundAndItsOwnGroupIsLeftAlone) {
  adopt_orphans();
  Process process(shell("setsid sh -c 'echo $$; exec sleep 1000' & wait"));
  const pid_t stray = printed_by(process);
  const auto found = kill_strays();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rfind(std::to_string(stray) + " ", 0), 0U) << *found;
  EXPECT_TRUE(ends(stray));
  EXPECT_TRUE(process.wait(kLong).clean()) << "the leader goes on, and its wait is over";
  EXPECT_FALSE(kill_strays());
  adopt_orphans(false);
}

TEST_F(ProcessTest, AnOrphanOutsideTheGroupIsAdoptedAndFound) {
  adopt_orphans();
  Process process(
      shell("setsid sh -c 'echo $$; exec sleep 1000' & while [ ! -s '" + log_.string() + "' ]; do :; done"));
  EXPECT_TRUE(process.wait(kLong).clean());
  const pid_t stray = printed_by(process);
  const auto found = kill_strays();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rfind(std::to_string(stray) + " ", 0), 0U) << *found;
  adopt_orphans(false);
}

TEST_F(ProcessTest, OfMuchOutputTheEndIsKept) {
  const Finished finished = run(shell("seq 1 100000"), kLong);
  EXPECT_TRUE(finished.ending.clean());
  EXPECT_EQ(finished.output.size(), 64U * 1024U);
  EXPECT_TRUE(finished.output.ends_with("\n99999\n100000\n"));
}

// A process's output is stored in a file whose size must stay limited.
TEST_F(ProcessTest, OfALogThatGrowsForEverTheEndIsKept) {
  Process process(shell("head -c 67108864 /dev/zero | tr '\\0' x; echo the end; sleep 1000"));
  const auto start = std::chrono::steady_clock::now();
  while (process.last_words().find("the end") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(static_cast<int>(kLong)))
        << "its last words were lost";
    process.shorten_log();
  }
  process.shorten_log();
  EXPECT_LT(std::filesystem::file_size(log_), 17U * kMiB);
  process.kill(Ending::Kind::signalled);
  EXPECT_TRUE(process.last_words().ends_with("the end\n"));
  EXPECT_TRUE(process.last_words(17U << 20U).starts_with("[dent: it printed more than 16 MiB"));
}

TEST_F(ProcessTest, AFileThatGrowsForEverEndsTheProcess) {
  // The limit is on the file's size, so a hole counts like data.
  const std::string file = log_.string() + ".big";
  const Finished finished =
      run(shell("trap '' HUP; dd if=/dev/zero of='" + file + "' bs=1 count=1 seek=4294967296 2>/dev/null"),
          kLong);
  EXPECT_FALSE(finished.ending.clean()) << describe(finished.ending);
  std::error_code none;
  EXPECT_LE(std::filesystem::file_size(file, none), std::uintmax_t{1} << 32);
  std::filesystem::remove(file);
}

TEST_F(ProcessTest, InheritsNoDescriptorThatItWasNotGiven) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // without close-on-exec, as inherited from a shell
  const Finished finished = run(shell("ls /proc/self/fd | sort -n | tail -2 | head -1"), kLong);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(finished.output, "2\n") << "besides the one that ls reads the folder by";
}

TEST_F(ProcessTest, TellsWhatWasChangedWhileItWasPaused) {
  Process process(shell("echo 1; while :; do :; done"));
  printed_by(process);
  process.pause();
  EXPECT_FALSE(process.resume());
  process.pause();
  const int before = getpriority(PRIO_PROCESS, 0);
  ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(process.id()), 19), 0);
  const auto disturbed = process.resume();
  ASSERT_TRUE(disturbed);
  EXPECT_FALSE(disturbed->ran);
  EXPECT_EQ(disturbed->what, "its nice was " + std::to_string(before) + ", is 19");
}

TEST_F(ProcessTest, TellsThatItRanWhileItWasPaused) {
  Process process(shell("echo 1; while :; do :; done"));
  printed_by(process);
  process.pause();
  kill(process.id(), SIGCONT);
  const auto before = cpu_time_ns(process.id());
  while (cpu_time_ns(process.id()) < before + 5'000'000) std::this_thread::yield();
  const auto disturbed = process.resume();
  ASSERT_TRUE(disturbed);
  EXPECT_TRUE(disturbed->ran) << disturbed->what;
}

TEST_F(ProcessTest, TellsWhoKilledIt) {
  Process process(shell("echo 1; sleep 1000"));
  printed_by(process);
  kill(process.id(), SIGKILL);
  EXPECT_EQ(describe(process.wait(kLong)), "died of SIGKILL (another process killed it)");
}

TEST_F(ProcessTest, ConfinedItMayActOnItsOwnFamilyOnly) {
  if (!why_not_confined().empty()) GTEST_SKIP() << why_not_confined();
  Command command = shell("sleep 1000 & kill $! && wait $!; kill -CONT $PPID; echo $?");
  command.confined = true;
  Process process(command);
  EXPECT_TRUE(process.wait(kLong).clean());
  EXPECT_EQ(process.last_words().back(), '\n');
  EXPECT_TRUE(process.last_words().ends_with("1\n")) << process.last_words();
  const auto refused = process.trespass();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->call, "kill on dent itself");
}

TEST_F(ProcessTest, PausedItIsStoppedWithItsChildrenUntilItIsResumed) {
  Process process(shell("sleep 1000 & echo $!; wait"));
  const pid_t child = printed_by(process);
  process.pause();
  EXPECT_TRUE(becomes(child, "T"));
  EXPECT_TRUE(becomes(process.id(), "T"));
  process.resume();
  EXPECT_TRUE(becomes(child, "SR"));
  EXPECT_FALSE(process.poll());
}

}  // namespace
}  // namespace dent::process_test

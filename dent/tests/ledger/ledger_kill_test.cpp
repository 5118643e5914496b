// SPDX-License-Identifier: MIT
// A writer that is killed at any instant loses no record for which append() has returned, and repeats none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "ledger/in_child.h"
#include "ledger/ledger.h"

namespace dent::ledger_kill_test {
namespace {

using test::ScratchFolder;
using test::start_child;
using test::wait_for;

using Counter = std::atomic<std::int64_t>;

// Writes records of varying length until killed, and publishes the number of finished ones.
int write_until_killed(const std::filesystem::path& file, Counter& promised) {
  Ledger ledger(file);
  while (true) {
    const auto next = static_cast<std::int64_t>(ledger.records().size()) + 1;
    const auto length = static_cast<std::size_t>(next * 7919 % 20'000);
    ledger.append(record::Note{std::to_string(next) + std::string(length, 'x')});
    promised = ledger.records().back().number;
  }
}

TEST(LedgerKill, FiftyKillsAtRandomInstantsLoseAndRepeatNothing) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  void* shared = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& promised = *new (shared) Counter(0);
  std::mt19937 random(42);
  std::uniform_int_distribution<int> microseconds(0, 20'000);
  for (int kill = 0; kill < 50; ++kill) {
    const pid_t writer = start_child([&] { return write_until_killed(file, promised); });
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    ASSERT_EQ(wait_for(writer), 128 + SIGKILL);
    if (!std::filesystem::exists(file)) continue;  // killed before it started
    const auto content = read_ledger(file);        // throws for a gap or a repetition
    const auto on_disk = static_cast<std::int64_t>(content.records.size());
    ASSERT_GE(on_disk, promised.load()) << "a record was lost";
    ASSERT_LE(on_disk, promised.load() + 1) << "at most the one being written is new";
    for (const Record& record : content.records) {
      ASSERT_NE(record.as<record::Note>(), nullptr);
      ASSERT_EQ(std::stoll(record.as<record::Note>()->text), record.number);
    }
    promised = on_disk;  // complete records stay, even if their writer was killed before it could count them
  }
  EXPECT_GT(promised.load(), 0);
  ::munmap(shared, sizeof(Counter));
}

}  // namespace
}  // namespace dent::ledger_kill_test

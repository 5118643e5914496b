// SPDX-License-Identifier: MIT
#include "ledger/project_lock.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "ledger/in_child.h"

namespace dent::project_lock_test {
namespace {

using test::ScratchFolder;
using test::start_child;
using test::wait_for;

// Returns a child that holds the lock until it is killed.
pid_t child_with_lock(const ScratchFolder& folder) {
  const auto ready = folder / "ready";
  const pid_t child = start_child([&] {
    ProjectLock lock(folder.path());
    std::ofstream(ready) << "yes";
    std::this_thread::sleep_for(std::chrono::minutes(5));
    return 0;
  });
  while (!std::filesystem::exists(ready)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return child;
}

TEST(ProjectLock, TheSecondIsToldWhoTheFirstIs) {
  ScratchFolder folder;
  EXPECT_FALSE(is_locked(folder.path()));
  const pid_t first = child_with_lock(folder);
  EXPECT_TRUE(is_locked(folder.path()));
  try {
    ProjectLock second(folder.path());
    ADD_FAILURE() << "two at once";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::busy);
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(first)), std::string::npos)
        << error.what();
  }
  ::kill(first, SIGKILL);
  wait_for(first);
}

TEST(ProjectLock, TheLockOfADeadProcessIsTakenOver) {
  ScratchFolder folder;
  const pid_t first = child_with_lock(folder);
  ::kill(first, SIGKILL);
  wait_for(first);
  ASSERT_TRUE(std::filesystem::exists(folder / "lock"));
  EXPECT_NO_THROW(ProjectLock{folder.path()});
}

TEST(ProjectLock, IsFreeAgainAfterItsOwner) {
  ScratchFolder folder;
  { ProjectLock lock(folder.path()); }
  EXPECT_NO_THROW(ProjectLock{folder.path()});
}

// A worker that outlives dent must not keep the project locked.
TEST(ProjectLock, IsNotInheritedByProgramsThatWeStart) {
  ScratchFolder folder;
  std::optional<ProjectLock> lock(folder.path());
  const pid_t sleeper = start_child([] {
    ::execlp("sleep", "sleep", "60", static_cast<char*>(nullptr));
    return 98;
  });
  const auto exe = "/proc/" + std::to_string(sleeper) + "/exe";  // differs from ours after its exec
  while (std::filesystem::read_symlink(exe) == std::filesystem::read_symlink("/proc/self/exe")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  lock.reset();
  EXPECT_NO_THROW(ProjectLock{folder.path()});
  ::kill(sleeper, SIGKILL);
  wait_for(sleeper);
}

// A child between fork and exec keeps the lock open for a moment after dent was killed.
TEST(ProjectLock, WaitsForAChildThatIsOnItsWayOut) {
  ScratchFolder folder;
  std::optional<ProjectLock> lock(folder.path());
  const pid_t child = start_child([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 0;
  });
  lock.reset();
  EXPECT_NO_THROW(ProjectLock{folder.path()});
  wait_for(child);
}

}  // namespace
}  // namespace dent::project_lock_test

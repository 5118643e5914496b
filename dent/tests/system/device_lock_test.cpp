// SPDX-License-Identifier: MIT
#include "system/device_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace dent::device_lock_test {
namespace {

namespace fs = std::filesystem;

class DeviceLockTest : public ::testing::Test {
 protected:
  DeviceLockTest() { fs::create_directories(folder_); }
  ~DeviceLockTest() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::temp_directory_path() / ("dent device lock " + std::to_string(getpid()));
};

TEST_F(DeviceLockTest, TheSecondWaitsUntilTheFirstHasLetGo) {
  const DeviceLock device("GPU-1 / odd\nname", folder_), other("GPU-2", folder_);
  DeviceLock::Held held =
      device.hold("the first", [](const std::string&) { FAIL() << "nobody else has it"; });
  const DeviceLock::Held another =
      other.hold("another", [](const std::string&) { FAIL() << "another device"; });
  std::atomic<bool> waits = false, has = false;
  std::thread second([&] {
    const DeviceLock::Held mine = device.hold("the second", [&](const std::string& who) {
      EXPECT_EQ(who, "the first (process " + std::to_string(getpid()) + ")");
      waits = true;
    });
    has = true;
  });
  while (!waits) std::this_thread::yield();
  EXPECT_FALSE(has);
  held = {};
  second.join();
  EXPECT_TRUE(has);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "what is free leaves no file";
}

TEST_F(DeviceLockTest, ManyWhoTakeTurnsNeverHaveItTogether) {
  const DeviceLock device("cpu", folder_);
  std::atomic<int> inside = 0, turns = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        const DeviceLock::Held held = device.hold("", [](const std::string&) {});
        EXPECT_EQ(++inside, 1);
        ++turns;
        --inside;
      }
    });
  }
  for (std::thread& each : all) each.join();
  EXPECT_EQ(turns, 200);
}

TEST_F(DeviceLockTest, DiesWithItsProcess) {
  const DeviceLock device("cpu", folder_);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const DeviceLock::Held held = device.hold("", [](const std::string&) {});
    [[maybe_unused]] const ssize_t told = write(ready[1], "x", 1);
    for (;;) pause();
  }
  char ignored = 0;
  ASSERT_EQ(read(ready[0], &ignored, 1), 1);
  bool waited = false;
  const DeviceLock::Held held = device.hold("", [&](const std::string&) {
    waited = true;
    kill(child, SIGKILL);
  });
  EXPECT_TRUE(waited);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace dent::device_lock_test

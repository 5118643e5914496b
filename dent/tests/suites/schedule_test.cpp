// SPDX-License-Identifier: MIT
#include "suites/schedule.h"

#include <gtest/gtest.h>

namespace dent::schedule_test {
namespace {

TEST(Schedule, EveryGpuHasOneProjectAtATime) {
  Schedule schedule({"0", "GPU-1f"});
  for (std::size_t i = 0; i < 3; ++i) schedule.add(i, DeviceKind::cuda);
  EXPECT_EQ(schedule.next()->gpu, "0");
  const auto second = schedule.next();
  EXPECT_EQ(second->project, 1U);
  EXPECT_EQ(second->gpu, "GPU-1f");
  EXPECT_FALSE(schedule.next());
  schedule.ended(1);
  const auto third = schedule.next();
  EXPECT_EQ(third->project, 2U);
  EXPECT_EQ(third->gpu, "GPU-1f");
  schedule.ended(0);
  EXPECT_FALSE(schedule.over());
  schedule.ended(2);
  EXPECT_TRUE(schedule.over());
}

TEST(Schedule, SeveralAtATimeGoWhereTheLeastIsDone) {
  Schedule schedule({"0", "1"}, 2);
  for (std::size_t i = 0; i < 6; ++i) schedule.add(i, DeviceKind::cuda);
  for (const char* gpu : {"0", "1", "0", "1"}) EXPECT_EQ(schedule.next()->gpu, gpu);
  EXPECT_FALSE(schedule.next());
  schedule.ended(1);
  EXPECT_EQ(schedule.next()->gpu, "1");
  EXPECT_FALSE(schedule.next());
}

TEST(Schedule, AKernelOfTheCpuHasTheMachineToItself) {
  Schedule schedule({"0", "1"});
  schedule.add(0, DeviceKind::cuda);
  schedule.add(1, DeviceKind::cpu);
  schedule.add(2, DeviceKind::cuda);
  schedule.add(3, DeviceKind::cuda);
  EXPECT_EQ(schedule.next()->project, 0U);
  EXPECT_EQ(schedule.next()->project, 2U) << "the other GPU is free";
  schedule.ended(0);
  EXPECT_EQ(schedule.next()->project, 3U);
  EXPECT_FALSE(schedule.next());
  schedule.ended(2);
  EXPECT_FALSE(schedule.next()) << "a GPU is at work";
  schedule.ended(3);
  const auto alone = schedule.next();
  EXPECT_EQ(alone->project, 1U);
  EXPECT_EQ(alone->gpu, "");
  schedule.add(4, DeviceKind::cuda);
  EXPECT_FALSE(schedule.next()) << "the CPU is measured";
  schedule.ended(1);
  EXPECT_EQ(schedule.next()->project, 4U);
}

TEST(Schedule, WithoutAGpuOneAtATime) {
  Schedule schedule({});
  schedule.add(0, DeviceKind::cuda);
  schedule.add(1, DeviceKind::cuda);
  EXPECT_EQ(schedule.next()->gpu, "");
  EXPECT_FALSE(schedule.next());
}

TEST(Schedule, ProjectsSideBySideShareTheProcessors) {
  EXPECT_EQ(threads_of_each(16, 9), 1);
  EXPECT_EQ(threads_of_each(16, 4), 4);
  EXPECT_EQ(threads_of_each(2, 9), 1);
}

}  // namespace
}  // namespace dent::schedule_test

// SPDX-License-Identifier: MIT
#include "executors/slurm_client.h"

#include <gtest/gtest.h>

#include "executors/slurm.h"

namespace dent::slurm_client_test {
namespace {

TEST(SlurmClient, EveryWordOfSlurmHasItsState) {
  EXPECT_EQ(job_state_of("PENDING"), JobState::pending);
  EXPECT_EQ(job_state_of("COMPLETING"), JobState::running);
  EXPECT_EQ(job_state_of("COMPLETED"), JobState::succeeded);
  EXPECT_EQ(job_state_of("CANCELLED by 1000"), JobState::cancelled);
  EXPECT_EQ(job_state_of("CANCELLED+"), JobState::cancelled);
  EXPECT_EQ(job_state_of("TIMEOUT"), JobState::timeout);
  EXPECT_EQ(job_state_of("PREEMPTED"), JobState::preempted);
  EXPECT_EQ(job_state_of("NODE_FAIL"), JobState::failed);
  EXPECT_EQ(job_state_of("OUT_OF_MEMORY"), JobState::failed);
  EXPECT_EQ(job_state_of("A_WORD_OF_NEXT_YEAR"), JobState::running);
}

TEST(SlurmClient, AStartThatFailedAndIsHeldIsNotAlive) {
  EXPECT_TRUE(is_alive({"7", "PENDING", "Resources"}));
  EXPECT_TRUE(is_alive({"7", "PENDING", "BeginTime"}));
  EXPECT_FALSE(is_alive({"7", "PENDING", "launch_failed_requeued_held"}));
  EXPECT_FALSE(is_alive({"7", "PENDING", "launch failed requeued held"}));
  EXPECT_FALSE(is_alive({"7", "REQUEUE_HOLD", ""}));
  EXPECT_FALSE(is_alive({"7", "COMPLETED", "None"}));
  EXPECT_TRUE(waits_after_requeue({"7", "PENDING", "BeginTime"}));
  EXPECT_FALSE(waits_after_requeue({"7", "PENDING", "Priority"}));
}

TEST(SlurmClient, LinesOfJobsAreReadByName) {
  const auto jobs = parse_jobs("dent-a|17|RUNNING|None\nslurm says something\ndent-b|18|TIMEOUT\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.at("dent-a").number, "17");
  EXPECT_EQ(jobs.at("dent-a").reason, "None");
  EXPECT_EQ(jobs.at("dent-b").state, "TIMEOUT");
}

TEST(SlurmClient, OfTwoJobsWithOneNameTheOneThatLivesCounts) {
  for (const char* text : {"x|1|NODE_FAIL|\nx|2|RUNNING|\n", "x|2|RUNNING|\nx|1|NODE_FAIL|\n"})
    EXPECT_EQ(parse_jobs(text).at("x").number, "2");
}

TEST(SlurmClient, TheNumberOfASubmittedJobMayHaveAClusterBehindIt) {
  EXPECT_EQ(parse_submitted("4711\n"), "4711");
  EXPECT_EQ(parse_submitted("4711;west\n"), "4711");
}

TEST(SlurmClient, OptionsComeUnderSlurmsNamesAndTheUsersOwnLast) {
  ExecutorRules rules;
  rules.slurm = {
      .partition = "low", .account = "a", .gres = "gpu:l4:1", .time = "1:00:00", .extra = {"--mem=4G"}};
  const auto options = slot_options(rules, DeviceKind::cuda);
  const auto has = [&](const char* word) {
    return std::find(options.begin(), options.end(), word) != options.end();
  };
  EXPECT_TRUE(has("--partition=low"));
  EXPECT_TRUE(has("--account=a"));
  EXPECT_TRUE(has("--gres=gpu:l4:1"));
  EXPECT_TRUE(has("--time=1:00:00"));
  EXPECT_TRUE(has("--requeue"));
  EXPECT_TRUE(has("--signal=B:USR1@90"));
  EXPECT_FALSE(has("--qos="));
  EXPECT_EQ(options.back(), "--mem=4G");
}

TEST(SlurmClient, AGpuIsAskedForWhereTheKernelNeedsOne) {
  const auto gres = [](const ExecutorRules& rules, DeviceKind device) -> std::string {
    for (const std::string& option : slot_options(rules, device))
      if (option.starts_with("--gres=")) return option;
    return "";
  };
  EXPECT_EQ(gres({}, DeviceKind::cpu), "");
  EXPECT_EQ(gres({}, DeviceKind::cuda), "--gres=gpu:1");
  EXPECT_EQ(gres({.accelerators = "L4:1"}, DeviceKind::cuda), "--gres=gpu:L4:1");
}

}  // namespace
}  // namespace dent::slurm_client_test

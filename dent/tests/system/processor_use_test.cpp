// SPDX-License-Identifier: MIT
#include "system/processor_use.h"

#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <thread>

#include "system/process.h"

namespace dent::processor_use_test {
namespace {

double own_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void burn(double cpu_s) {
  volatile double sink = 0;
  for (const double until = own_cpu_s() + cpu_s; own_cpu_s() < until;) sink = sink + 1;
}

TEST(ProcessorUse, CountsOurOwnWork) {
  const ProcessorUse before = processor_use({});
  burn(0.1);
  const ProcessorUse after = processor_use({});
  EXPECT_GT(after.at_s, before.at_s);
  EXPECT_GE(after.processors, 1);
  EXPECT_GE(after.ours_s - before.ours_s, 0.08);
  EXPECT_GE(after.busy_s - before.busy_s, 0.05);  // the counters have the resolution of a tick
}

// A child's processor time counts as ours only if its group is given.
TEST(ProcessorUse, AGroupIsOursWhenItIsNamed) {
  Process child({.argv = {"/bin/sh", "-c", "while :; do :; done"}});
  const std::array groups{child.id()};
  const ProcessorUse before = processor_use(groups), unnamed = processor_use({});
  for (int i = 0; i < 400; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    if (processor_use(groups).ran_s - before.ran_s > 0.1) break;
  }
  const ProcessorUse after = processor_use(groups);
  EXPECT_GT(after.ran_s - before.ran_s, 0.1);
  EXPECT_GT(after.ours_s - before.ours_s, 0.1);
  EXPECT_GE(after.waited_s, before.waited_s);
  EXPECT_GE(after.switches, before.switches);
  EXPECT_EQ(unnamed.ran_s, 0);
}

TEST(ProcessorUse, AGroupThatIsGoneIsNothing) {
  const std::array groups{pid_t{0x3fffffff}};
  EXPECT_EQ(processor_use(groups).ran_s, 0);
}

}  // namespace
}  // namespace dent::processor_use_test

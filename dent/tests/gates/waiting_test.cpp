// SPDX-License-Identifier: MIT
// How long a worker's threads waited for a processor comes back with each stretch, and is on record.
#include <gtest/gtest.h>

#include "gates/bench.h"
#include "system/own_waiting.h"

namespace dent::waiting_test {
namespace {

TEST(Waiting, OfEachStretchIsOnRecord) {
  if (!OwnWaiting().ns()) GTEST_SKIP() << "the system does not count it";
  test::Bench bench("right");
  bench.quiet = {.others = -1, .waited = -1};  // whatever the machine does, it counts as busy
  const GateResult result = bench.ask(performance_gate());
  const auto* samples = result.last<record::Samples>();
  const auto* comparison = result.last<record::Comparison>();
  ASSERT_NE(samples, nullptr) << result.reason();
  ASSERT_NE(comparison, nullptr) << result.reason();
  EXPECT_EQ(samples->baseline_waited_ns.size(), samples->baseline_ns.size());
  EXPECT_EQ(samples->candidate_waited_ns.size(), samples->candidate_ns.size());
  ASSERT_TRUE(comparison->taken);
  if (comparison->starts > 1) return;  // those of later starts are not on record
  EXPECT_EQ(*comparison->taken,
            doubt_of(record::pairs_of(*samples), comparison->alpha, *comparison->disturbance));
}

}  // namespace
}  // namespace dent::waiting_test

// SPDX-License-Identifier: MIT
// A worker reports with each batch how long its threads waited for a processor, and the ledger records it.
#include <gtest/gtest.h>

#include "gates/bench.h"
#include "system/own_waiting.h"

namespace dent::waiting_test {
namespace {

TEST(Waiting, OfEachStretchIsOnRecord) {
  if (!OwnWaiting().ns()) GTEST_SKIP() << "the system does not count it";
  test::Bench bench("right");
  bench.quiet = {.others = -1, .waited = -1};  // every machine counts as busy
  const GateResult result = bench.ask(performance_gate());
  const auto* samples = result.last<record::Samples>();
  const auto* comparison = result.last<record::Comparison>();
  ASSERT_NE(samples, nullptr) << result.reason();
  ASSERT_NE(comparison, nullptr) << result.reason();
  EXPECT_EQ(samples->baseline_waited_ns.size(), samples->baseline_ns.size());
  EXPECT_EQ(samples->candidate_waited_ns.size(), samples->candidate_ns.size());
  ASSERT_TRUE(comparison->taken);
  if (comparison->starts > 1) return;  // samples of later starts are not recorded
  EXPECT_EQ(*comparison->taken,
            doubt_of(record::pairs_of(*samples), comparison->alpha, *comparison->disturbance));
}

}  // namespace
}  // namespace dent::waiting_test

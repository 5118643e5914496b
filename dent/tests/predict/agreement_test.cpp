// SPDX-License-Identifier: MIT
#include "predict/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dent::test::agreement_test {
namespace {

double median_where(const std::vector<Agreement>& rows, auto&& holds) {
  std::vector<double> errors;
  for (const Agreement& row : rows) {
    if (holds(row)) errors.push_back(row.error());
  }
  EXPECT_GT(errors.size(), 5U);
  return median_error(errors);
}

// Requirement: a median error of at most 25 % over the benchmark shapes of our kernels.
TEST(Agreement, PredictionsAreWithinAQuarterOfAnH200InTheMedian) {
  const auto rows = agreements(DENT_RESULTS);
  const double benchmarks = median_where(rows, [](const Agreement& row) { return row.set == "benchmarks"; });
  EXPECT_TRUE(benchmarks <= 0.25) << benchmarks;
  for (const char* kernel : {"small_forward", "decode_forward", "ampere_forward", "hopper_forward"}) {
    const double error = median_where(
        rows, [&](const Agreement& row) { return row.set == "benchmarks" && row.kernel == kernel; });
    EXPECT_TRUE(error <= 0.25) << kernel << " " << error;
  }
}

TEST(Agreement, SoAreThoseOfGradients) {
  const auto rows = agreements(DENT_RESULTS);
  for (const char* kernel : {"hopper_backward", "hopper_backward, deterministic", "ampere_backward"}) {
    const double error = median_where(rows, [&](const Agreement& row) { return row.kernel == kernel; });
    EXPECT_TRUE(error <= 0.25) << kernel << " " << error;
  }
}

// An honest range contains nine of ten measurements.
TEST(Agreement, RangesHoldMostOfWhatWasMeasured) {
  int inside = 0, all = 0;
  for (const Agreement& row : agreements(DENT_RESULTS)) {
    ++all;
    inside += row.in_range() ? 1 : 0;
  }
  EXPECT_GT(all, 100);
  EXPECT_GE(inside, all * 9 / 10) << inside << " of " << all;
}

// Requirement for kernels of which only launch and work are known: nine of ten within a factor of two, and a
// median error of at most 30 %.
TEST(Agreement, PlainKernelsAreWithinAFactorOfTwoNineTimesOfTen) {
  const auto rows = plain_agreements(DENT_RESULTS);
  EXPECT_GE(rows.size(), 40U);
  std::size_t near = 0;
  for (const Agreement& row : rows) near += row.factor() <= 2 ? 1 : 0;
  EXPECT_GE(10 * near, 9 * rows.size()) << near << " of " << rows.size();
  const double median = median_where(rows, [](const Agreement&) { return true; });
  EXPECT_TRUE(median <= 0.3) << median;
}

TEST(Agreement, NotANumberIsNoSmallError) {
  EXPECT_TRUE(std::isnan(median_error({0.1, std::nan(""), 0.2})));
  EXPECT_TRUE(std::isnan(median_error({})));
  EXPECT_DOUBLE_EQ(median_error({-0.3, 0.1, 0.2}), 0.2);
}

}  // namespace
}  // namespace dent::test::agreement_test

// SPDX-License-Identifier: MIT
#include "measure/blocks.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace dent {
namespace {

// Returns t with P(|T| < t) = 1 - alpha. Computes in double, since some processors emulate long double.
double student(double alpha, std::size_t freedom) {
  using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::students_t_distribution<double, InDouble> distribution(static_cast<double>(freedom));
  return boost::math::quantile(boost::math::complement(distribution, alpha / 2));
}

}  // namespace

Estimate mean_estimate(std::span<const double> values, double alpha) {
  if (values.size() < 2)
    throw Error(ErrorCode::internal,
                "an interval of a mean needs 2 values; got " + std::to_string(values.size()));
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = student(alpha, values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, {mean - half, mean + half}};
}

std::optional<Interval> block_interval(std::span<const double> values, double alpha) {
  if (values.size() < static_cast<std::size_t>(kBlocks * kLeastInBlock)) return std::nullopt;
  std::vector<double> medians;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::size_t from = block * values.size() / kBlocks, to = (block + 1) * values.size() / kBlocks;
    medians.push_back(median(values.subspan(from, to - from)));
  }
  return mean_estimate(medians, alpha).interval;
}

}  // namespace dent

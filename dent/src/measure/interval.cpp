// SPDX-License-Identifier: MIT
#include "measure/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace dent {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::vector<double> sorted_copy(std::span<const double> values) {
  for (double value : values) {
    if (std::isnan(value))
      throw Error(ErrorCode::invalid, "a series of times holds a NaN, which can't be sorted");
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// The highest rank k (from 1) such that the k-th lowest and the k-th highest of n values enclose the median
// with probability at least 1 - alpha; 0 if even the lowest and the highest do not.
int binomial_rank(int n, double alpha) {
  double below = 0;  // P(fewer than k + 1 of n fair coins show heads)
  for (int k = 0; k < n / 2; ++k) {
    below +=
        std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) - n * std::log(2.0));
    if (2 * below > alpha) return k;
  }
  return n / 2;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) throw Error(ErrorCode::internal, "a median needs at least one value; got none");
  return median_of_sorted(sorted_copy(values));
}

double correlation_time(std::span<const double> values) {
  if (values.size() < 4) return 1;
  const double centre = median(values);
  std::vector<int> sign(values.size());
  std::transform(values.begin(), values.end(), sign.begin(),
                 [centre](double value) { return (value > centre) - (value < centre); });
  const auto sum_at = [&sign](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < sign.size(); ++i) sum += sign[i] * sign[i + lag];
    return sum;
  };
  const double power = sum_at(0);
  if (power == 0) return 1;  // all values equal
  double tau = -1;
  for (std::size_t lag = 0; lag + 1 < sign.size() / 2; lag += 2) {
    const double two_lags = (sum_at(lag) + sum_at(lag + 1)) / power;
    if (two_lags <= 0) break;  // later lags are noise
    tau += 2 * two_lags;
  }
  return std::max(tau, 1.0);
}

std::optional<Estimate> median_estimate(std::span<const double> values, double alpha) {
  if (values.empty()) return std::nullopt;
  const auto sorted = sorted_copy(values);
  const double n = static_cast<double>(sorted.size());
  const int independent = static_cast<int>(n / correlation_time(values));
  const int rank = binomial_rank(independent, alpha);
  if (rank == 0) return std::nullopt;
  // Distance of the rank from the middle, scaled from independent values to all values.
  const double reach = ((independent + 1) / 2.0 - rank) * n / independent;
  const auto low = static_cast<long>(std::floor((n + 1) / 2 - reach)) - 1;
  if (low < 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(low);
  return Estimate{median_of_sorted(sorted), {sorted[at], sorted[sorted.size() - 1 - at]}};
}

}  // namespace dent

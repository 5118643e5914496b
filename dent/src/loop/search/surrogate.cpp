// SPDX-License-Identifier: MIT
#include "loop/search/surrogate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dent {
namespace {

constexpr double kLengths[] = {0.15, 0.3, 0.6, 1.0};
constexpr double kLeastDeviation =
    0.05;                        // of log speed, before anything is known of how much tunables matter
constexpr double kNoise = 0.01;  // of a measurement
constexpr double kCategoryDistance = 0.7;  // between two values without an order

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::VectorXd;

}  // namespace

Surrogate::Surrogate(std::vector<Point> points, std::span<const double> values, std::vector<bool> ordered)
    : points_(std::move(points)), ordered_(std::move(ordered)) {
  const auto n = static_cast<double>(values.size());
  mean_ = std::accumulate(values.begin(), values.end(), 0.0) / n;
  std::vector<double> centred(values.begin(), values.end());
  double squares = 0;
  for (double& value : centred) {
    value -= mean_;
    squares += value * value;
  }
  variance_ = std::max(squares / n, kLeastDeviation * kLeastDeviation);
  double best = -std::numeric_limits<double>::infinity();
  double chosen = kLengths[2];
  for (const double length : kLengths) {
    const double likelihood = fit(length, centred);
    if (likelihood > best) {
      best = likelihood;
      chosen = length;
    }
  }
  fit(chosen, centred);
}

double Surrogate::covariance(const Point& a, const Point& b, double length) const {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = ordered_[i] ? a[i] - b[i] : (a[i] == b[i] ? 0 : kCategoryDistance);
    squares += apart * apart;
  }
  const double r = std::sqrt(5 * squares) / length;
  return variance_ * (1 + r + r * r / 3) * std::exp(-r);
}

double Surrogate::fit(double length, std::span<const double> centred) {
  const auto n = static_cast<Index>(points_.size());
  length_ = length;
  MatrixXd covariances(n, n);  // LLT reads the lower triangle
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      covariances(i, j) =
          covariance(points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)], length);
    }
    covariances(i, i) += kNoise * kNoise;
  }
  const Eigen::LLT<MatrixXd> factored(covariances);
  const MatrixXd lower = factored.matrixL();
  const Map<const VectorXd> values(centred.data(), n);
  const VectorXd weights = factored.solve(values);
  cholesky_.assign(lower.data(), lower.data() + lower.size());
  weights_.assign(weights.data(), weights.data() + weights.size());
  return -0.5 * values.dot(weights) - lower.diagonal().array().log().sum();
}

Prediction Surrogate::predict(const Point& point) const {
  const auto n = static_cast<Index>(points_.size());
  VectorXd k(n);
  for (Index i = 0; i < n; ++i) k(i) = covariance(point, points_[static_cast<std::size_t>(i)], length_);
  Prediction prediction;
  prediction.mean = mean_ + k.dot(Map<const VectorXd>(weights_.data(), n));
  Map<const MatrixXd>(cholesky_.data(), n, n).triangularView<Eigen::Lower>().solveInPlace(k);
  prediction.deviation = std::sqrt(std::max(variance_ - k.squaredNorm(), 1e-12));
  return prediction;
}

double expected_improvement(const Prediction& prediction, double best) {
  const double gain = prediction.mean - best, z = gain / prediction.deviation;
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * 3.14159265358979323846);
  return gain * below + prediction.deviation * density;
}

}  // namespace dent

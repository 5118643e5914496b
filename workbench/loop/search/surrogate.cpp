// SPDX-License-Identifier: MIT
#include "loop/search/surrogate.h"

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

// Solves L x = b in place, for the lower triangle of an n x n matrix.
void forward(const std::vector<double>& lower, std::size_t n, std::vector<double>& b) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= lower[i * n + j] * b[j];
    b[i] /= lower[i * n + i];
  }
}

void backward(const std::vector<double>& lower, std::size_t n, std::vector<double>& b) {
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= lower[j * n + i] * b[j];
    b[i] /= lower[i * n + i];
  }
}

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
  const std::size_t n = points_.size();
  length_ = length;
  cholesky_.assign(n * n, 0);
  double log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = covariance(points_[i], points_[j], length) + (i == j ? kNoise * kNoise : 0);
      for (std::size_t k = 0; k < j; ++k) sum -= cholesky_[i * n + k] * cholesky_[j * n + k];
      cholesky_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / cholesky_[j * n + j];
    }
    log_determinant += 2 * std::log(cholesky_[i * n + i]);
  }
  weights_.assign(centred.begin(), centred.end());
  forward(cholesky_, n, weights_);
  const double fit = std::inner_product(weights_.begin(), weights_.end(), weights_.begin(), 0.0);
  backward(cholesky_, n, weights_);
  return -0.5 * (fit + log_determinant);
}

Prediction Surrogate::predict(const Point& point) const {
  const std::size_t n = points_.size();
  std::vector<double> k(n);
  for (std::size_t i = 0; i < n; ++i) k[i] = covariance(point, points_[i], length_);
  Prediction prediction;
  prediction.mean = mean_ + std::inner_product(k.begin(), k.end(), weights_.begin(), 0.0);
  forward(cholesky_, n, k);
  const double known = std::inner_product(k.begin(), k.end(), k.begin(), 0.0);
  prediction.deviation = std::sqrt(std::max(variance_ - known, 1e-12));
  return prediction;
}

double expected_improvement(const Prediction& prediction, double best) {
  const double gain = prediction.mean - best, z = gain / prediction.deviation;
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * 3.14159265358979323846);
  return gain * below + prediction.deviation * density;
}

}  // namespace dent

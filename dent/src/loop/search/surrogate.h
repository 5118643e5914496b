// SPDX-License-Identifier: MIT
// A guess at what was not measured yet: a Gaussian process over the tunables, small enough to fit in a
// millisecond.
//
// A point has one coordinate per tunable: the place of its value among the accepted ones, 0 to 1, so that
// neighbours in the manifest's list are neighbours here; values that are no numbers are either equal or a
// whole step apart. Matern 5/2 with one length for all coordinates, chosen from a few by marginal likelihood:
// with a dozen points there is no more to learn.
#pragma once

#include <span>
#include <vector>

namespace dent {

struct Prediction {
  double mean = 0;
  double deviation = 0;
};

class Surrogate {
 public:
  using Point = std::vector<double>;
  // `ordered`: which coordinates have an order. `values`: log of speed, one for each point; at least one.
  Surrogate(std::vector<Point> points, std::span<const double> values, std::vector<bool> ordered);
  Prediction predict(const Point& point) const;

 private:
  double covariance(const Point& a, const Point& b, double length) const;
  double fit(double length, std::span<const double> centred);  // log likelihood

  std::vector<Point> points_;
  std::vector<bool> ordered_;
  double mean_ = 0, variance_ = 1, length_ = 1;
  std::vector<double> cholesky_, weights_;  // lower triangle, column by column; K^-1 (y - mean)
};

// How much better than `best` it will be on average, counting worse as no gain.
double expected_improvement(const Prediction& prediction, double best);

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "evaluation/keep_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace dent {
namespace {

// t with P(|T| < t) = 1 - alpha. In double all the way: long double is emulated on some processors.
double student(double alpha, int freedom) {
  using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::students_t_distribution<double, InDouble> distribution(freedom);
  return boost::math::quantile(boost::math::complement(distribution, alpha / 2));
}

}  // namespace

Ratio over_starts(std::span<const double> log_ratios, double alpha) {
  const auto n = static_cast<int>(log_ratios.size());
  if (n < 3) throw Error(ErrorCode::internal, "an interval over " + std::to_string(n) + " starts");
  const double mean = std::accumulate(log_ratios.begin(), log_ratios.end(), 0.0) / n;
  double squares = 0;
  for (const double value : log_ratios) squares += (value - mean) * (value - mean);
  const double half = student(alpha, n - 1) * std::sqrt(squares / (n - 1) / n);
  return {std::exp(mean), {std::exp(mean - half), std::exp(mean + half)}};
}

double confirmation_alpha(double false_keep, int candidates) {
  return 2 * false_keep / std::max(candidates, 1);
}

bool loses_too_much(const ShapeGain& shape, const KeepRule& rule) {
  return shape.ratio.centre * (1 + rule.shape_loss) < 1 && shape.ratio.interval.high < 1;
}

Judgement judge_gains(std::span<const ShapeGain> shapes, const KeepRule& rule, std::optional<Ratio> given) {
  Judgement judgement;
  if (shapes.empty()) {
    judgement.reason = "nothing was measured";
    return judgement;
  }
  std::vector<Ratio> ratios;
  for (const ShapeGain& shape : shapes) ratios.push_back(shape.ratio);
  judgement.mean = given ? *given : geometric_mean(ratios);
  const Ratio& mean = *judgement.mean;
  const std::string figures =
      fmt::format("{:.3f}x ({:.3f} to {:.3f})", mean.centre, mean.interval.low, mean.interval.high);
  for (const ShapeGain& shape : shapes) {
    if (!(shape.ratio.centre * (1 + rule.shape_loss) >= 1)) {
      judgement.reason = fmt::format("{} loses: {:.3f}x; no shape may lose more than {:g} %, mean {}",
                                     shape.shape, shape.ratio.centre, 100 * rule.shape_loss, figures);
      return judgement;
    }
  }
  judgement.faster = mean.interval.low > 1 && mean.centre >= 1 + rule.min_gain;
  judgement.reason = figures;
  if (!(mean.interval.low > 1)) {
    judgement.reason += mean.interval.high < 1 ? ", slower" : ", not proved faster";
  } else if (!judgement.faster) {
    judgement.reason += fmt::format(", less than the {:g} % that a change must gain", 100 * rule.min_gain);
  }
  return judgement;
}

}  // namespace dent

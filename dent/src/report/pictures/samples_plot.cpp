// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/format.h"
#include "report/pictures/plots.h"
#include "report/pictures/svg.h"

namespace dent {
namespace {

constexpr Frame kSamples{.width = 720, .height = 220, .left = 64, .right = 8, .top = 10, .bottom = 30};

// The highest time drawn to scale. Interruptions take far longer, and are drawn at the upper edge.
double top_of(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) * 97 / 100);
  std::nth_element(times.begin(), at, times.end());
  return *at * 1.03;
}

// Baseline: a ring; candidate: a filled square. Shapes differ so that the plot does not rely on colour.
std::string mark(Side side, double x, double y) {
  return side == Side::baseline
             ? fmt::format("M{} {}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0", coordinate(x), coordinate(y))
             : fmt::format("M{} {}h3v3h-3z", coordinate(x - 1.5), coordinate(y - 1.5));
}

void axes(Svg& svg, const Axis& x, const Axis& y) {
  for (const double tick : y.ticks()) {
    svg.line(kSamples.left, y.at(tick), kSamples.width - kSamples.right, y.at(tick), "grid");
    svg.text(kSamples.left - 6, y.at(tick) + 4, show_ns(tick), Anchor::end);
  }
  for (const double tick : x.ticks()) {
    svg.text(x.at(tick), kSamples.height - kSamples.bottom + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  svg.text(kSamples.width - kSamples.right, kSamples.height - 2, "pair, in the order taken", Anchor::end);
}

}  // namespace

std::string samples_plot(const record::Samples& samples, const record::Comparison* comparison) {
  const std::vector<Pair> pairs = record::pairs_of(samples);
  if (pairs.empty()) return {};
  std::vector<double> times;
  for (const Pair& pair : pairs) times.insert(times.end(), {pair.baseline.ns, pair.candidate.ns});
  const auto count = static_cast<double>(pairs.size());
  const Axis x(Axis::Scale::linear, 0, std::max(count - 1, 1.0), kSamples.left + 6,
               kSamples.width - kSamples.right - 6);
  const Axis y(Axis::Scale::linear, *std::min_element(times.begin(), times.end()) * 0.99, top_of(times),
               kSamples.height - kSamples.bottom, kSamples.top);

  Svg svg(kSamples.width, kSamples.height,
          fmt::format("samples of {}: {} pairs", samples.shape, pairs.size()));
  axes(svg, x, y);
  std::string baseline, candidate, aside;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool is_aside = std::find(samples.aside.begin(), samples.aside.end(),
                                    static_cast<std::int64_t>(i)) != samples.aside.end();
    const double at = x.at(static_cast<double>(i));
    (is_aside ? aside : baseline) += mark(Side::baseline, at, y.at(pairs[i].baseline.ns));
    (is_aside ? aside : candidate) += mark(Side::candidate, at, y.at(pairs[i].candidate.ns));
  }
  svg.path(baseline, "baseline ring", "baseline");
  svg.path(candidate, "candidate fill", "candidate");
  if (!aside.empty()) svg.path(aside, "aside ring", "set aside: the clock was low");
  if (comparison != nullptr) {
    const double left = kSamples.left, right = kSamples.width - kSamples.right;
    svg.line(left, y.at(comparison->baseline_ns), right, y.at(comparison->baseline_ns), "baseline median");
    svg.line(left, y.at(comparison->candidate_ns), right, y.at(comparison->candidate_ns), "candidate median");
  }
  return std::move(svg).take();
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "report/climb.h"
#include "report/format.h"
#include "report/pictures/svg.h"

namespace dent {
namespace {

constexpr Frame kClimb{.width = 720, .height = 260, .left = 60, .right = 16, .top = 12, .bottom = 34};

// Marks: a filled diamond on the line for a kept change, a ring at the measured speed for a dropped one.
std::string diamond(double x, double y) {
  return fmt::format("M{} {}l5 5l-5 5l-5 -5z", coordinate(x), coordinate(y - 5));
}
std::string ring(double x, double y) {
  return fmt::format("M{} {}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", coordinate(x), coordinate(y));
}

}  // namespace

std::string climb_plot(const ClimbView& climb) {
  if (climb.steps.empty() || !climb.start) return {};
  const double start = climb.start->centre;
  const double* target = climb.loop && climb.loop->target ? &*climb.loop->target : nullptr;
  double low = std::min(start, 1.0), high = std::max({start, 1.0, target != nullptr ? *target : 0});
  for (const ClimbStep& step : climb.steps) {
    low = std::min(low, step.speedup);
    high = std::max(high, step.speedup);
  }
  const auto fits = [&](const Interval& interval) {
    low = std::min(low, interval.low);
    high = std::max(high, interval.high);
  };
  fits(climb.start->interval);
  if (climb.winner) fits(climb.winner->interval);
  const bool wide = high / low > 4;
  const Axis x(Axis::Scale::linear, 0, static_cast<double>(climb.steps.back().iteration.iteration),
               kClimb.left + 6, kClimb.width - kClimb.right - 6);
  const Axis y(wide ? Axis::Scale::logarithmic : Axis::Scale::linear, low / 1.05, high * 1.05,
               kClimb.height - kClimb.bottom, kClimb.top);
  Svg svg(kClimb.width, kClimb.height, "speed over the baseline by iteration");
  for (const double tick : y.ticks()) {
    svg.line(kClimb.left, y.at(tick), kClimb.width - kClimb.right, y.at(tick), "grid");
    svg.text(kClimb.left - 6, y.at(tick) + 4, fmt::format("{:g}x", tick), Anchor::end);
  }
  svg.line(kClimb.left, y.at(1), kClimb.width - kClimb.right, y.at(1), "one");
  if (target != nullptr) {
    svg.line(kClimb.left, y.at(*target), kClimb.width - kClimb.right, y.at(*target), "candidate median");
    svg.text(kClimb.width - kClimb.right, y.at(*target) - 4, fmt::format("target {:g}x", *target),
             Anchor::end);
  }
  double now = start;
  // Draws an interval at an iteration, clipped at the axis.
  const auto whisker = [&](double at, const Interval& interval, std::string_view css_class) {
    svg.line(at, y.at(interval.low), at, y.at(interval.high), css_class);
  };
  whisker(x.at(0), climb.start->interval, "candidate interval");
  std::string line = fmt::format("M{} {}", coordinate(x.at(0)), coordinate(y.at(start)));
  std::string kept = diamond(x.at(0), y.at(start)), dropped;
  for (const ClimbStep& step : climb.steps) {
    const double at = x.at(step.iteration.iteration);
    line += fmt::format("L{} {}L{} {}", coordinate(at), coordinate(y.at(now)), coordinate(at),
                        coordinate(y.at(step.speedup)));
    if (const auto gain = step.gain())
      whisker(at, {now * gain->interval.low, now * gain->interval.high},
              step.kept() ? "candidate interval" : "aside interval");
    if (step.kept()) kept += diamond(at, y.at(step.speedup));
    if (step.outcome && !step.kept())
      dropped += ring(at, y.at(step.gain() ? now * step.gain()->centre : now));
    now = step.speedup;
  }
  if (climb.winner) {
    const double at = x.at(climb.steps.back().iteration.iteration) + 6;
    whisker(at, climb.winner->interval, "candidate interval");
    kept += diamond(at, y.at(climb.winner->centre));
  }
  svg.path(line, "roof", "the best so far");
  if (!dropped.empty()) svg.path(dropped, "aside ring", "dropped");
  svg.path(kept, "candidate fill", "kept");
  for (const double tick : x.ticks()) {
    svg.text(x.at(tick), kClimb.height - kClimb.bottom + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  svg.text(kClimb.width - kClimb.right, kClimb.height - 2, "iteration", Anchor::end);
  return std::move(svg).take();
}

}  // namespace dent

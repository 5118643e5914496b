// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/pictures/svg.h"
#include "suites/score.h"

namespace dent {
namespace {

constexpr Frame kScorePlot{.width = 720, .height = 300, .left = 56, .right = 16, .top = 16, .bottom = 40};

// One of the three curves: it falls at every speed that a project has, at its centre or at an end of its
// interval.
template <class Speed, class Share>
std::string stairs(std::span<const SuiteRow> rows, const Axis& x, const Axis& y, const Speed& speed,
                   const Share& share) {
  std::vector<double> falls;
  for (const SuiteRow& row : rows) {
    if (found(row) == Found::right && row.ratio) falls.push_back(speed(*row.ratio));
  }
  std::sort(falls.begin(), falls.end());
  double now = y.at(share(fast_p(rows, x.low())));
  std::string path = fmt::format("{} {}", coordinate(x.at(x.low())), coordinate(now));
  for (const double fall : falls) {
    const double then = y.at(share(fast_p(rows, fall)));
    path += fmt::format("L{0} {1}L{0} {2}", coordinate(x.at(fall)), coordinate(now), coordinate(then));
    now = then;
  }
  return path + fmt::format("L{} {}", coordinate(x.at(x.high())), coordinate(now));
}

// The same points, the last first.
std::string backwards(const std::string& path) {
  std::string reversed;
  for (std::size_t end = path.size(); end > 0;) {
    const std::size_t begin = path.rfind('L', end - 1);
    const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
    reversed += "L" + path.substr(from, end - from);
    end = begin == std::string::npos ? 0 : begin;
  }
  return reversed;
}

}  // namespace

std::string score_plot(std::span<const SuiteRow> rows) {
  double low = 0.5, high = 2;
  bool any = false;
  for (const SuiteRow& row : rows) {
    if (found(row) != Found::right || !row.ratio) continue;
    any = true;
    low = std::min(low, row.ratio->interval.low);
    high = std::max(high, row.ratio->interval.high);
  }
  if (!any) return {};
  const Axis x(Axis::Scale::logarithmic, low / 1.1, high * 1.1, kScorePlot.left,
               kScorePlot.width - kScorePlot.right);
  const Axis y(Axis::Scale::linear, 0, 1, kScorePlot.height - kScorePlot.bottom, kScorePlot.top);
  Svg svg(kScorePlot.width, kScorePlot.height,
          fmt::format("share of {} projects that is right and faster than p", rows.size()));
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg.line(kScorePlot.left, y.at(tick), kScorePlot.width - kScorePlot.right, y.at(tick), "grid");
    svg.text(kScorePlot.left - 6, y.at(tick) + 4, fmt::format("{:.0f} %", 100 * tick), Anchor::end);
  }
  for (const double tick : x.ticks()) {
    svg.line(x.at(tick), kScorePlot.top, x.at(tick), kScorePlot.height - kScorePlot.bottom, "grid");
    svg.text(x.at(tick), kScorePlot.height - kScorePlot.bottom + 16, fmt::format("{:g}x", tick),
             Anchor::middle);
  }
  svg.line(x.at(1), kScorePlot.top, x.at(1), kScorePlot.height - kScorePlot.bottom, "one");
  const std::string upper = stairs(
      rows, x, y, [](const Ratio& r) { return r.interval.high; },
      [](const FastP& f) { return f.measured.high; });
  const std::string lower = stairs(
      rows, x, y, [](const Ratio& r) { return r.interval.low; },
      [](const FastP& f) { return f.measured.low; });
  svg.path("M" + upper + backwards(lower) + "z", "band", "what the intervals of the projects allow");
  svg.path(
      "M" + stairs(
                rows, x, y, [](const Ratio& r) { return r.centre; }, [](const FastP& f) { return f.share; }),
      "roof", "right, and faster than p");
  svg.text(kScorePlot.width - kScorePlot.right, kScorePlot.height - 6, "p: times the baseline's speed",
           Anchor::end);
  return std::move(svg).take();
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "predict/show.h"
#include "report/pictures/svg.h"

namespace dent {
namespace {

namespace device = flashmoe::device;

constexpr Frame kPlot{.width = 720, .height = 420, .left = 64, .right = 200, .top = 20, .bottom = 44};

// Colours of a stand-alone file, which has no page with a style sheet.
constexpr std::string_view kStyle =
    "text{font:11px system-ui,sans-serif}.label{fill:#57606a}.grid{stroke:#d0d7de;stroke-width:.5}"
    ".curve{fill:none;stroke-width:1.8}.c0{stroke:#0550ae}.c1{stroke:#b3141d}.c2{stroke:#116329}.c3{stroke:#"
    "8a5a00}"
    ".c4{stroke:#6639ba}.c5{stroke:#0a7a8f}.c6{stroke:#57606a}.c7{stroke:#bf3989}.range{stroke:none;fill-"
    "opacity:.1}"
    ".f0{fill:#0550ae}.f1{fill:#b3141d}.f2{fill:#116329}.f3{fill:#8a5a00}.f4{fill:#6639ba}.f5{fill:#0a7a8f}"
    ".f6{fill:#57606a}.f7{fill:#bf3989}";

std::string point(double x, double y) { return coordinate(x) + " " + coordinate(y); }

struct Extent {
  double low_size = 1e300, high_size = 0, low_us = 1e300, high_us = 0;
};

Extent extent_of(std::span<const Forecast> forecasts) {
  Extent e;
  for (const Forecast& f : forecasts) {
    e.low_size = std::min(e.low_size, f.size);
    e.high_size = std::max(e.high_size, f.size);
    e.low_us = std::min(e.low_us, f.prediction.low_us);
    e.high_us = std::max(e.high_us, f.prediction.high_us);
  }
  return e;
}

std::string label(const Forecast& f) { return std::string(f.gpu.name) + " " + f.family; }

// A single size: one line per GPU, from the low to the high end of its expected range.
std::string bars(std::span<const Forecast> forecasts, const Extent& e) {
  constexpr double kBar = 22, kNames = 270;
  const double height = kPlot.top + kBar * static_cast<double>(forecasts.size()) + kPlot.bottom;
  const Axis x(Axis::Scale::logarithmic, e.low_us, e.high_us, kNames, kPlot.width - 24);
  Svg svg(kPlot.width, height, "expected time by GPU");
  for (const double tick : x.ticks()) {
    svg.line(x.at(tick), kPlot.top, x.at(tick), height - kPlot.bottom, "grid");
    svg.text(x.at(tick), height - kPlot.bottom + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  svg.text((kNames + kPlot.width) / 2, height - 10, "expected time and its range, us", Anchor::middle);
  double middle = kPlot.top + kBar / 2;
  for (const Forecast& f : forecasts) {
    const device::Prediction& p = f.prediction;
    svg.text(kNames - 10, middle + 4, label(f), Anchor::end);
    svg.line(x.at(p.low_us), middle, x.at(p.high_us), middle, "curve c0");
    svg.path(fmt::format("M{}l4 4l-4 4l-4 -4z", point(x.at(p.expected_us), middle - 4)), "f0",
             fmt::format("{}: {:.2f} us", label(f), p.expected_us));
    middle += kBar;
  }
  return as_svg_file(std::move(svg).take(), kStyle);
}

}  // namespace

std::string forecast_plot(std::span<const Forecast> forecasts) {
  if (forecasts.empty()) return {};
  const Extent e = extent_of(forecasts);
  if (!(e.high_size > e.low_size)) return bars(forecasts, e);
  std::map<std::string, std::vector<const Forecast*>> curves;
  for (const Forecast& f : forecasts) curves[label(f)].push_back(&f);
  const Axis x(Axis::Scale::logarithmic, e.low_size, e.high_size, kPlot.left, kPlot.width - kPlot.right);
  const Axis y(Axis::Scale::logarithmic, e.low_us, e.high_us, kPlot.height - kPlot.bottom, kPlot.top);
  Svg svg(kPlot.width, kPlot.height, "expected time over size, by GPU");
  for (const double tick : x.ticks()) {
    svg.line(x.at(tick), kPlot.top, x.at(tick), kPlot.height - kPlot.bottom, "grid");
    svg.text(x.at(tick), kPlot.height - kPlot.bottom + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  for (const double tick : y.ticks()) {
    svg.line(kPlot.left, y.at(tick), kPlot.width - kPlot.right, y.at(tick), "grid");
    svg.text(kPlot.left - 6, y.at(tick) + 4, fmt::format("{:g}", tick), Anchor::end);
  }
  svg.text((kPlot.left + kPlot.width - kPlot.right) / 2, kPlot.height - 10,
           "size (rows of attention, CTAs of a kernel)", Anchor::middle);
  svg.text(kPlot.left - 6, 12, "us", Anchor::end);
  int colour = 0;
  for (auto& [name, points] : curves) {
    std::stable_sort(points.begin(), points.end(),
                     [](const Forecast* a, const Forecast* b) { return a->size < b->size; });
    std::string line, range, back;
    for (const Forecast* f : points) {
      const double at = x.at(f->size);
      line += (line.empty() ? "M" : "L") + point(at, y.at(f->prediction.expected_us));
      range += (range.empty() ? "M" : "L") + point(at, y.at(f->prediction.high_us));
      back = "L" + point(at, y.at(f->prediction.low_us)) + back;
    }
    svg.path(range + back + "z", fmt::format("range f{}", colour % 8));
    svg.path(line, fmt::format("curve c{}", colour % 8), name);
    svg.text(kPlot.width - kPlot.right + 8, kPlot.top + 14 * (colour + 1), name, Anchor::start,
             fmt::format("f{}", colour % 8));
    ++colour;
  }
  return as_svg_file(std::move(svg).take(), kStyle);
}

}  // namespace dent

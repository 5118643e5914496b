// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/diagnosis_view.h"
#include "report/format.h"
#include "report/pictures/plots.h"
#include "report/pictures/svg.h"

namespace dent {
namespace {

constexpr Frame kRoofline{.width = 720, .height = 320, .left = 64, .right = 24, .top = 16, .bottom = 40};

enum class Mark { baseline, candidate, profiled };

struct Point {
  std::string shape;
  Mark mark;
  double intensity;  // FLOP per byte
  double gflops;
};

std::vector<Point> points_of(const SessionView& session) {
  std::vector<Point> points;
  for (const record::Comparison& shape : session.comparisons) {
    if (!shape.flops || !shape.bytes || *shape.flops <= 0 || *shape.bytes <= 0) continue;
    for (const Side side : {Side::baseline, Side::candidate}) {
      const double ns = side == Side::baseline ? shape.baseline_ns : shape.candidate_ns;
      const Mark mark = side == Side::baseline ? Mark::baseline : Mark::candidate;
      if (ns > 0) points.push_back({shape.shape, mark, *shape.flops / *shape.bytes, *shape.flops / ns});
    }
  }
  for (const record::Diagnosis& diagnosis : session.diagnoses) {
    if (const auto p = profiled_point(diagnosis))
      points.push_back({diagnosis.shape, Mark::profiled, p->flops / p->bytes, p->flops / p->ns});
  }
  return points;
}

std::string show_gflops(double gflops) {
  return gflops >= 1000 ? fmt::format("{:g} TFLOP/s", gflops / 1000) : fmt::format("{:g} GFLOP/s", gflops);
}

void grid(Svg& svg, const Axis& x, const Axis& y) {
  for (const double tick : y.ticks()) {
    svg.line(kRoofline.left, y.at(tick), kRoofline.width - kRoofline.right, y.at(tick), "grid");
    svg.text(kRoofline.left - 6, y.at(tick) + 4, fmt::format("{:g}", tick), Anchor::end);
  }
  for (const double tick : x.ticks()) {
    svg.line(x.at(tick), kRoofline.top, x.at(tick), kRoofline.height - kRoofline.bottom, "grid");
    svg.text(x.at(tick), kRoofline.height - kRoofline.bottom + 16, fmt::format("{:g}", tick), Anchor::middle);
  }
  svg.text(kRoofline.left, kRoofline.top - 5, "GFLOP/s");
  svg.text(kRoofline.width - kRoofline.right, kRoofline.height - 6, "FLOP per byte", Anchor::end);
}

}  // namespace

std::string roofline_plot(const SessionView& session) {
  const auto points = points_of(session);
  if (!session.roofline || points.empty()) return {};
  const record::Roofline& roof = *session.roofline;
  const double ridge = roof.peak_gflops / roof.peak_gbs;
  double low_x = ridge, high_x = ridge, low_y = roof.peak_gflops, high_y = roof.peak_gflops;
  for (const Point& point : points) {
    low_x = std::min(low_x, point.intensity);
    high_x = std::max(high_x, point.intensity);
    low_y = std::min(low_y, point.gflops);
    high_y = std::max(high_y, point.gflops);  // a point above the roof is an error that must be visible
  }
  const Axis x(Axis::Scale::logarithmic, low_x / 4, high_x * 4, kRoofline.left,
               kRoofline.width - kRoofline.right);
  const Axis y(Axis::Scale::logarithmic, std::min(low_y, low_x / 4 * roof.peak_gbs) / 2, high_y * 2,
               kRoofline.height - kRoofline.bottom, kRoofline.top);

  Svg svg(kRoofline.width, kRoofline.height, "roofline of " + roof.device);
  grid(svg, x, y);
  svg.path(
      fmt::format("M{} {}L{} {}L{} {}", coordinate(x.at(x.low())), coordinate(y.at(x.low() * roof.peak_gbs)),
                  coordinate(x.at(ridge)), coordinate(y.at(roof.peak_gflops)), coordinate(x.at(x.high())),
                  coordinate(y.at(roof.peak_gflops))),
      "roof", roof.device);
  svg.text(x.at(x.high()) - 4, y.at(roof.peak_gflops) - 6,
           fmt::format("{}, {:g} GB/s", show_gflops(roof.peak_gflops), roof.peak_gbs), Anchor::end);
  for (const Point& p : points) {
    static constexpr const char* kNames[] = {"baseline", "candidate", "as profiled"};
    const std::string title = fmt::format("{}, {}: {:.3g} GFLOP/s at {:.3g} FLOP per byte", p.shape,
                                          kNames[static_cast<int>(p.mark)], p.gflops, p.intensity);
    const double px = x.at(p.intensity), py = y.at(p.gflops);
    if (p.mark == Mark::profiled) {
      svg.path(fmt::format("M{} {}l5 5l-5 5l-5-5z", coordinate(px), coordinate(py - 5)), "candidate ring",
               title);
    } else if (p.mark == Mark::baseline) {
      svg.path(fmt::format("M{} {}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", coordinate(px), coordinate(py)),
               "baseline ring", title);
    } else {
      svg.path(fmt::format("M{} {}h7v7h-7z", coordinate(px - 3.5), coordinate(py - 3.5)), "candidate fill",
               title);
      svg.text(px + 8, py + 4, p.shape);
    }
  }
  return std::move(svg).take();
}

}  // namespace dent

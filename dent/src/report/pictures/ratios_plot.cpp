// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"
#include "report/pictures/plots.h"
#include "report/pictures/svg.h"

namespace dent {
namespace {

constexpr double kRow = 24;
constexpr Frame kRatios{
    .width = 720, .height = 0, .left = 150, .right = 24, .top = 8, .bottom = 26};  // height: plus rows

struct Row {
  std::string name;
  Ratio ratio;
  bool is_mean = false;
};

std::vector<Row> rows_of(const SessionView& session) {
  std::vector<Row> rows;
  for (const record::Comparison& shape : session.comparisons) {
    if (shape.ratio) rows.push_back({shape.shape, *shape.ratio});
  }
  if (session.mean()) rows.push_back({"geometric mean", *session.mean(), true});
  return rows;
}

std::string_view class_of(const Ratio& ratio) {
  if (ratio.interval.low > 1) return "faster";
  return ratio.interval.high < 1 ? "slower" : "unclear";
}

void draw_row(Svg& svg, const Axis& x, const Row& row, double middle) {
  const double low = x.at(row.ratio.interval.low), high = x.at(row.ratio.interval.high);
  const std::string css(class_of(row.ratio));
  svg.text(kRatios.left - 10, middle + 4, row.name, Anchor::end, row.is_mean ? "label strong" : "label");
  svg.line(low, middle, high, middle, css + " interval");
  for (const double end : {low, high}) svg.line(end, middle - 5, end, middle + 5, css + " interval");
  const double centre = x.at(row.ratio.centre), size = row.is_mean ? 6 : 4;
  svg.path(fmt::format("M{} {}l{} {}l-{} {}l-{} -{}z", coordinate(centre), coordinate(middle - size), size,
                       size, size, size, size, size),
           css + " fill", row.name + ": " + show_ratio(row.ratio));
}

}  // namespace

std::string ratios_plot(const SessionView& session) {
  const auto rows = rows_of(session);
  if (rows.empty()) return {};
  double low = 1, high = 1, same_within = 0;
  for (const Row& row : rows) {
    low = std::min(low, row.ratio.interval.low);
    high = std::max(high, row.ratio.interval.high);
  }
  for (const record::Comparison& shape : session.comparisons)
    same_within = std::max(same_within, shape.same_within);
  const double height = kRatios.top + kRow * static_cast<double>(rows.size()) + kRatios.bottom;
  const bool wide = high / low > 4;
  const Axis x(wide ? Axis::Scale::logarithmic : Axis::Scale::linear, std::min(low, 1 / 1.02) / 1.01,
               std::max(high, 1.02) * 1.01, kRatios.left, kRatios.width - kRatios.right);

  Svg svg(kRatios.width, height, "speed-up of each shape with its 95 % interval");
  svg.rectangle(x.at(1 / (1 + same_within)), kRatios.top, x.at(1 + same_within) - x.at(1 / (1 + same_within)),
                height - kRatios.top - kRatios.bottom, "same-band");
  for (const double tick : x.ticks()) {
    svg.line(x.at(tick), kRatios.top, x.at(tick), height - kRatios.bottom, "grid");
    svg.text(x.at(tick), height - kRatios.bottom + 16, fmt::format("{:g}x", tick), Anchor::middle);
  }
  svg.line(x.at(1), kRatios.top, x.at(1), height - kRatios.bottom, "one");
  double middle = kRatios.top + kRow / 2;
  for (const Row& row : rows) {
    draw_row(svg, x, row, middle);
    middle += kRow;
  }
  return std::move(svg).take();
}

}  // namespace dent

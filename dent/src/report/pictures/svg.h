// SPDX-License-Identifier: MIT
// A minimal SVG writer for plots: shapes, coloured by CSS classes of the page, and axes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dent {

enum class Anchor { start, middle, end };

// A plot's size and margins.
struct Frame {
  double width, height, left, right, top, bottom;
};

class Svg {
 public:
  // `label` is the text for screen readers.
  Svg(double width, double height, std::string_view label);
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void rectangle(double x, double y, double width, double height, std::string_view css_class);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view css_class = "label");
  // `data` is an SVG path; `title` is shown as a tooltip.
  void path(std::string_view data, std::string_view css_class, std::string_view title = {});
  std::string take() &&;

 private:
  std::string text_;
};

// Maps values to positions on the page.
class Axis {
 public:
  enum class Scale { linear, logarithmic };
  // Values low .. high are mapped to from .. to, where `from` may exceed `to`. An empty range is widened.
  Axis(Scale scale, double low, double high, double from, double to);
  double at(double value) const;  // values outside the range are mapped to its ends
  bool holds(double value) const { return value >= low_ && value <= high_; }
  std::vector<double> ticks() const;  // round numbers: 1, 2 or 5 times a power of ten
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  Scale scale_;
  double low_, high_, from_, to_;
};

std::string coordinate(double value);  // short form for path data

// Turns the result of Svg::take() into a stand-alone file by adding the style sheet.
std::string as_svg_file(std::string picture, std::string_view style);

}  // namespace dent

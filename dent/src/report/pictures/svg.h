// SPDX-License-Identifier: MIT
// Just enough SVG to draw a plot: shapes that take their colours from the page's style sheet by class, and
// axes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dent {

enum class Anchor { start, middle, end };

// A plot's size, and the space that it leaves around what it draws.
struct Frame {
  double width, height, left, right, top, bottom;
};

class Svg {
 public:
  // `label` is what a screen reader says.
  Svg(double width, double height, std::string_view label);
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void rectangle(double x, double y, double width, double height, std::string_view css_class);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view css_class = "label");
  // `data` in the language of SVG paths; `title` shows when the pointer rests on it.
  void path(std::string_view data, std::string_view css_class, std::string_view title = {});
  std::string take() &&;

 private:
  std::string text_;
};

// From values to places on the page.
class Axis {
 public:
  enum class Scale { linear, logarithmic };
  // Values low .. high are drawn from .. to, which may run downwards. An empty range is widened.
  Axis(Scale scale, double low, double high, double from, double to);
  double at(double value) const;  // values beyond the ends are drawn at the ends
  bool holds(double value) const { return value >= low_ && value <= high_; }
  std::vector<double> ticks() const;  // round numbers: 1, 2 or 5 times a power of ten
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  Scale scale_;
  double low_, high_, from_, to_;
};

std::string coordinate(double value);  // short, for path data

// What Svg::take() gave, as a file that any viewer shows: with its own style, since there is no page around
// it.
std::string as_svg_file(std::string picture, std::string_view style);

}  // namespace dent

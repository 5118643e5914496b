// SPDX-License-Identifier: MIT
#include "report/pictures/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/format.h"

namespace dent {

Svg::Svg(double width, double height, std::string_view label)
    : text_(fmt::format(
          "<div class=\"scroll\"><svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n", width,
          height, escape_html(label))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", coordinate(x1),
                       coordinate(y1), coordinate(x2), coordinate(y2), css_class);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view css_class) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"/>\n", coordinate(x),
                       coordinate(y), coordinate(width), coordinate(height), css_class);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view css_class) {
  const char* anchors[] = {"start", "middle", "end"};
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", coordinate(x),
                       coordinate(y), anchors[static_cast<int>(anchor)], css_class, escape_html(text));
}

void Svg::path(std::string_view data, std::string_view css_class, std::string_view title) {
  text_ += fmt::format("<path d=\"{}\" class=\"{}\"", data, css_class);
  text_ += title.empty() ? "/>\n" : fmt::format("><title>{}</title></path>\n", escape_html(title));
}

std::string Svg::take() && { return std::move(text_) + "</svg></div>\n"; }

Axis::Axis(Scale scale, double low, double high, double from, double to)
    : scale_(scale), low_(low), high_(high), from_(from), to_(to) {
  if (!(high_ > low_)) {  // all values are equal, or there are none
    low_ = scale_ == Scale::linear ? low - std::max(std::abs(low) * 0.01, 1e-9) : low / 2;
    high_ = scale_ == Scale::linear ? low + std::max(std::abs(low) * 0.01, 1e-9) : low * 2;
  }
}

double Axis::at(double value) const {
  const double v = std::clamp(value, low_, high_);
  const double share =
      scale_ == Scale::linear ? (v - low_) / (high_ - low_) : std::log(v / low_) / std::log(high_ / low_);
  return from_ + share * (to_ - from_);
}

std::vector<double> Axis::ticks() const {
  std::vector<double> found;
  if (scale_ == Scale::logarithmic) {
    const bool few_powers = high_ / low_ < 100;  // then also 2 and 5 times each power
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
      for (const double times : {1.0, 2.0, 5.0}) {
        if ((few_powers || times == 1) && holds(times * power)) found.push_back(times * power);
      }
    }
    return found;
  }
  const double rough = (high_ - low_) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power < 2 ? power : rough / power < 5 ? 2 * power : 5 * power;
  for (double tick = std::ceil(low_ / step) * step; tick <= high_ + step * 1e-6; tick += step) {
    found.push_back(std::abs(tick) < step * 1e-6 ? 0 : tick);
  }
  return found;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string as_svg_file(std::string picture, std::string_view style) {
  const std::size_t begin = picture.find("<svg"), end = picture.find("</svg>");
  picture = picture.substr(begin, end + 6 - begin) + "\n";
  picture.insert(picture.find('>') + 1, fmt::format("<style>{}</style>", style));
  picture.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
  return picture;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "report/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace dent {
namespace {

// Three significant digits.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// Formats a factor. Its distance from 1 matters, so factors up to 10 have two decimals, and small factors two
// significant digits.
std::string factor_digits(double ratio) {
  if (ratio >= 10) return three_digits(ratio);
  if (ratio < 0.1) return fmt::format("{:.2g}", ratio);
  return fmt::format("{:.3f}", ratio);
}

}  // namespace

std::string show_ns(double ns) {
  if (ns == 0) return "-";  // a time of 0 means that it was not measured
  if (ns < 999.5) return three_digits(ns) + " ns";
  if (ns < 999.5e3) return three_digits(ns / 1e3) + " us";
  if (ns < 999.5e6) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

std::string show_seconds(double seconds) {
  if (seconds < 99.95) return three_digits(seconds) + " s";
  const long whole = std::lround(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string show_factor(double ratio) { return factor_digits(ratio) + "x"; }

std::string show_ratio(const Ratio& ratio) {
  return fmt::format("{} ({} .. {})", show_factor(ratio.centre), factor_digits(ratio.interval.low),
                     factor_digits(ratio.interval.high));
}

std::string show_bytes(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : three_digits(bytes) + " " + kUnits[unit];
}

std::string show_number(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  return size >= 1e-3 && size < 1e6 ? fmt::format("{:.4g}", value) : fmt::format("{:.2e}", value);
}

std::string show_first_bad(const record::Correctness& c) {
  if (!c.first_bad) return {};
  return fmt::format("{}: {} instead of {}", c.first_bad->index, c.first_bad->got.value,
                     c.first_bad->expected.value);
}

std::string show_uptime(const record::Uptime& uptime) {
  const char* before =
      uptime.begin == UptimeFrom::found_running ? "; it was already running, for an unknown time" : "";
  const std::string price =
      uptime.usd_per_hour > 0 ? fmt::format(", {} USD an hour", uptime.usd_per_hour) : "";
  return fmt::format("The machine of {} was up for {}: from {} ({}) to {} ({}){}{}.", uptime.executor,
                     show_seconds(uptime.seconds), uptime.from, name(uptime.begin), uptime.to,
                     name(uptime.end), price, before);
}

std::string escape_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string escape_markdown_cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\n') {
      safe += ' ';
    } else {
      if (c == '|' || c == '<' || c == '`' || c == '*' || c == '_') safe += '\\';
      safe += c;
    }
  }
  return safe;
}

std::string show_weights(std::span<const record::Comparison> shapes) {
  std::string text;
  bool differ = false;
  for (const record::Comparison& shape : shapes) {
    differ = differ || shape.weight != shapes.front().weight;
    text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", shape.shape, shape.weight);
  }
  return differ ? text : std::string();
}

}  // namespace dent

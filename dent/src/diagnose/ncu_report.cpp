// SPDX-License-Identifier: MIT
#include "diagnose/ncu_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace dent {
namespace {

double scale_of(std::string_view unit) {
  static constexpr std::pair<std::string_view, double> kScales[] = {
      {"us", 1e3},     {"usecond", 1e3}, {"ms", 1e6},    {"msecond", 1e6},    {"s", 1e9},
      {"second", 1e9}, {"Kbyte", 1e3},   {"Mbyte", 1e6}, {"Gbyte", 1e9},      {"Kbyte/block", 1e3},
      {"KB", 1e3},     {"MB", 1e6},      {"GB", 1e9},    {"Mbyte/block", 1e6}};
  for (const auto& [name, scale] : kScales) {
    if (unit == name) return scale;
  }
  return 1;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// Compute capability from the column "CC" ("9.0") or from the device's attributes.
int arch_of(const std::map<std::string, std::string, std::less<>>& texts, const Quantities& metrics) {
  if (const auto found = texts.find("CC"); found != texts.end()) {
    const auto dot = found->second.find('.');
    int major = 0, minor = 0;
    const char* text = found->second.c_str();
    if (dot != std::string::npos && std::from_chars(text, text + dot, major).ec == std::errc() &&
        std::from_chars(text + dot + 1, text + found->second.size(), minor).ec == std::errc()) {
      return 10 * major + minor;
    }
  }
  const Reading major = metrics.at("device__attribute_compute_capability_major");
  const Reading minor = metrics.at("device__attribute_compute_capability_minor");
  if (major.presence != Presence::value || minor.presence != Presence::value) return 0;
  return static_cast<int>(10 * major.value + minor.value);
}

}  // namespace

std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

Reading parse_ncu_value(std::string_view text, std::string_view unit) {
  std::string digits;
  for (const char c : text) {
    if (c != ',' && c != ' ') digits += c;
  }
  if (digits.empty() || same_word(digits, "n/a")) return {Presence::missing, 0, "ncu gave no value"};
  if (same_word(digits, "nan") || same_word(digits, "-nan") || same_word(digits, "inf") ||
      same_word(digits, "-inf")) {
    return {Presence::not_a_number, 0, "ncu gave " + digits};
  }
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size()) {
    return {Presence::missing, 0, "ncu gave \"" + std::string(text) + "\""};
  }
  return {Presence::value, value * scale_of(unit)};
}

NcuReport parse_ncu_csv(std::string_view text) {
  NcuReport report;
  std::vector<std::string> header, units;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.front() != '"') {
      if (line.rfind("==", 0) == 0) report.chatter.emplace_back(line);
      continue;
    }
    std::vector<std::string> cells = split_csv(line);
    if (cells.front() == "ID") {
      header = std::move(cells);
      units.clear();
      continue;
    }
    if (header.empty()) continue;  // a line that the profiled program printed
    if (cells.size() != header.size()) {
      throw Error(ErrorCode::environment,
                  fmt::format("Nsight Compute's CSV has a row of {} cells, but its header has {}",
                              cells.size(), header.size()),
                  "check whether the profiled program prints into the CSV, or whether this version of ncu "
                  "writes another format");
    }
    if (units.empty() && cells.front().empty()) {
      units = std::move(cells);
      continue;
    }
    ProfiledLaunch launch;
    std::map<std::string, std::string, std::less<>> texts;
    for (std::size_t i = 0; i < header.size(); ++i) {
      texts[header[i]] = cells[i];
      if (header[i].empty() || std::islower(static_cast<unsigned char>(header[i][0])) == 0)
        continue;  // columns that are no metrics, such as "Kernel Name"
      launch.metrics.put(header[i], parse_ncu_value(cells[i], units.empty() ? "" : units[i]));
    }
    launch.kernel = texts["Kernel Name"];
    launch.device =
        texts.contains("device__attribute_display_name") ? texts["device__attribute_display_name"] : "";
    launch.arch = arch_of(texts, launch.metrics);
    report.launches.push_back(std::move(launch));
  }
  return report;
}

}  // namespace dent

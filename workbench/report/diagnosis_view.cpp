// SPDX-License-Identifier: MIT
#include "report/diagnosis_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/format.h"

namespace dent {
namespace {

using nlohmann::json;

std::string text(const json& data, const char* key) { return data.value(key, std::string()); }
std::vector<std::string> list(const json& data, const char* key) {
  return data.value(key, std::vector<std::string>());
}

std::optional<double> number(const json& data, const char* key) {
  const auto found = data.find(key);
  if (found == data.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

MetricRow metric_row(const json& entry) {
  MetricRow row{.label = entry.at("label"), .value = "", .target = text(entry, "target")};
  if (const auto value = number(entry, "value")) {
    row.value = fmt::format("{:.4g}", *value);
    if (!text(entry, "unit").empty()) row.value += " " + text(entry, "unit");
  } else {
    row.value = text(entry, "absent");
  }
  if (entry.contains("good")) row.good = entry.at("good").get<bool>();
  return row;
}

PatternRow pattern_row(const json& entry) {
  PatternRow row{.name = entry.at("pattern"),
                 .title = text(entry, "title"),
                 .fix = text(entry, "fix"),
                 .why = text(entry, "why"),
                 .expected_gain = entry.value("expected_gain", 1.0),
                 .evidence = "untried here"};
  const json evidence = entry.value("evidence", json::object());
  if (const int tries = evidence.value("tries", 0); tries > 0) {
    row.evidence = fmt::format("{} {}", tries, tries == 1 ? "try" : "tries");
    if (const auto median = number(evidence, "median_gain"))
      row.evidence += ", median " + show_factor(*median);
    if (const int failures = evidence.value("failures", 0); failures > 0) {
      row.evidence += fmt::format(", {} failed", failures);
    }
  }
  return row;
}

std::string headline_of(const json& record) {
  if (!text(record, "refusal").empty()) return "no diagnosis: " + text(record, "refusal");
  return text(record, "title") + ": " + text(record, "says");
}

}  // namespace

DiagnosisView view_diagnosis(const json& record) {
  DiagnosisView view{.shape = record.at("shape"),
                     .headline = headline_of(record),
                     .bottleneck = text(record, "bottleneck"),
                     .advice = text(record, "advice"),
                     .kernel = text(record, "kernel"),
                     .limiter = text(record, "limiter"),
                     .tool = text(record, "tool"),
                     .degraded = text(record, "why"),
                     .report = text(record, "report"),
                     .decided = list(record, "decided"),
                     .overturned = list(record, "overturned"),
                     .notes = list(record, "notes"),
                     .runner_up = "",
                     .metrics = {},
                     .patterns = {},
                     .launches = {}};
  if (!text(record, "runner_up").empty()) {
    view.runner_up = fmt::format("{}: {}", text(record, "runner_up"), text(record, "runner_up_says"));
  }
  for (const json& entry : record.value("targets", json::array())) view.metrics.push_back(metric_row(entry));
  for (const json& entry : record.value("patterns", json::array()))
    view.patterns.push_back(pattern_row(entry));
  for (const json& entry : record.value("launches", json::array())) {
    view.launches.push_back({entry.at("kernel"), entry.value("ctas", 0.0), entry.value("cta_threads", 0.0),
                             entry.value("duration_us", 0.0)});
  }
  view.elapsed_s = record.value("elapsed_s", 0.0);
  view.tool_s = record.value("tool_s", 0.0);
  const json metrics = record.value("metrics", json::object());
  if (const auto us = number(metrics, "duration_us")) view.duration_ns = 1e3 * *us;
  view.flops = number(record, "flops");
  view.bytes = number(metrics, "dram_bytes");
  if (!view.bytes) view.bytes = number(record, "bytes");
  return view;
}

std::string diagnosis_text(const DiagnosisView& d) {
  std::string out = d.headline + "\n";
  const auto line = [&out](const char* name, const std::string& words) {
    if (!words.empty()) out += fmt::format("  {:<11} {}\n", name, words);
  };
  line("because", fmt::format("{}", fmt::join(d.decided, "; ")));
  line("runner-up", d.runner_up);
  for (const std::string& other : d.overturned) line("overturned", "if " + other);
  line("look at", d.advice);
  line("kernel", d.limiter.empty() ? d.kernel : d.kernel + ", occupancy limited by " + d.limiter);
  line("by", fmt::format("{}, {:.1f} s{}", d.tool, d.elapsed_s,
                         d.tool_s > 0 ? fmt::format(", of which {:.1f} s in its hands", d.tool_s) : ""));
  line("DEGRADED", d.degraded);
  for (const std::string& note : d.notes) line("note", note);
  if (!d.metrics.empty()) out += "\n";
  for (const MetricRow& row : d.metrics) {
    const char* mark = !row.good ? " " : *row.good ? "+" : "-";
    out += fmt::format("  {} {:<44} {:>16}  {}\n", mark, row.label, row.value, row.target);
  }
  if (!d.patterns.empty()) out += "\n";
  for (const PatternRow& row : d.patterns) {
    out += fmt::format("  {} ({} expected, {}): {}\n", row.name, show_factor(row.expected_gain), row.evidence,
                       row.fix);
  }
  return out;
}

}  // namespace dent

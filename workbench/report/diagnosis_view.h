// SPDX-License-Identifier: MIT
// A diagnosis as reports and the terminal show it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dent {

struct MetricRow {
  std::string label;
  std::string value;   // "71.2 %", "not applicable"
  std::string target;  // "dram > 70"; "" when there is none
  std::optional<bool> good{};
};

struct PatternRow {
  std::string name, title, fix, why;
  double expected_gain = 1;
  std::string evidence;  // "3 tries, median 1.31x, 1 failed"; "untried here"
};

struct LaunchRow {
  std::string kernel;
  double ctas = 0, cta_threads = 0, duration_us = 0;
};

struct DiagnosisView {
  std::string shape;
  std::string
      headline;  // "too few CTAs: 2 CTAs on 132 SMs: 1.52 % of the GPU gets work", or why there is no answer
  std::string bottleneck, advice, kernel, limiter, tool, degraded, report;
  std::vector<std::string> decided, overturned, notes;
  std::string runner_up;  // in words; "" when there is none
  std::vector<MetricRow> metrics;
  std::vector<PatternRow> patterns;
  std::vector<LaunchRow> launches;
  double elapsed_s = 0, tool_s = 0;
  // For the roofline: what the call took, computed and really moved, where that is known.
  std::optional<double> duration_ns{}, flops{}, bytes{};
};

DiagnosisView view_diagnosis(const nlohmann::json& record);  // throws json::exception

// For a terminal, a few lines.
std::string diagnosis_text(const DiagnosisView& diagnosis);

}  // namespace dent

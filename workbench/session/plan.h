// SPDX-License-Identifier: MIT
// What a session will do, in order, each step with its time box and the rule by which it stops.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "project/project.h"

namespace dent {

enum class StepKind { preflight, build, baseline, correctness, performance, summary, sanitize, report };

struct Step {
  StepKind kind = StepKind::preflight;
  std::string name;       // "correctness/tiny"
  std::size_t shape = 0;  // index, for correctness and performance
  double time_box_s = 0;
  std::string stop_rule;
  std::string threshold{};
};

struct PlanOptions {
  bool preflight = true;
  bool build = true;
  bool baseline = true;
  bool correctness = true;
  bool performance = true;
  bool sanitize = false;
  std::vector<std::string> shapes{};  // names; empty: all
};

std::vector<Step> make_plan(const Project& project, const PlanOptions& options);
nlohmann::json plan_record(const std::vector<Step>& plan);
std::string plan_text(const std::vector<Step>& plan);  // a table for people

}  // namespace dent

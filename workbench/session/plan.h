// SPDX-License-Identifier: MIT
// What a session will do, in order, each step with its time box and the rule by which it stops.
#pragma once

#include <string>
#include <vector>

#include "project/project.h"
#include "records/session.h"

namespace dent {

enum class StepKind {
  preflight,
  build,
  baseline,
  correctness,
  performance,
  summary,
  sanitize,
  profile,
  report
};

struct Step {
  StepKind kind = StepKind::preflight;
  std::string name{};  // "correctness/tiny"
  std::size_t shape =
      0;  // index, for correctness and performance; profile: what to take when nothing was measured
  double time_box_s = 0;
  std::string stop_rule{};
  std::string threshold{};
};

enum class Profiling { never, when_slow, always };  // when_slow: a shape is below performance.profile_below

struct PlanOptions {
  bool preflight = true;
  bool build = true;
  bool baseline = true;
  bool correctness = true;
  bool performance = true;
  bool sanitize = false;
  Profiling profile = Profiling::when_slow;
  std::vector<std::string> shapes{};  // names; empty: all
};

// The options as names of gates, and back: what a session records, and a resume reads.
std::vector<std::string> gates_of(const PlanOptions& options);
PlanOptions options_of(const std::vector<std::string>& gates, const std::vector<std::string>& shapes);

std::vector<Step> make_plan(const Project& project, const PlanOptions& options);
std::vector<record::PlannedStep> plan_record(const std::vector<Step>& plan);
std::string plan_text(const std::vector<Step>& plan);  // a table for people

}  // namespace dent

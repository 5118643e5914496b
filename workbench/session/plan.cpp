// SPDX-License-Identifier: MIT
#include "session/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "project/strict_table.h"

namespace dent {
namespace {

constexpr double kProfileSeconds = 15;

void check_names(const Project& project, const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const Shape& shape : project.shapes) names.push_back(shape.name);
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest(name, names);
    throw Error(ErrorCode::invalid,
                fmt::format("no shape is called \"{}\"; there are {}", name, fmt::join(names, ", ")),
                near ? "did you mean \"" + *near + "\"?" : "");
  }
}

}  // namespace

std::vector<Step> make_plan(const Project& project, const PlanOptions& options) {
  check_names(project, options.shapes);
  const auto wanted = [&](const Shape& shape) {
    return options.shapes.empty() ||
           std::find(options.shapes.begin(), options.shapes.end(), shape.name) != options.shapes.end();
  };
  const PerformanceRules& speed = project.performance;
  std::vector<Step> plan;
  if (options.preflight) {
    plan.push_back({StepKind::preflight, "preflight", 0, project.limits.preflight_seconds,
                    "the first check that fails stops the session"});
  }
  if (options.build)
    plan.push_back(
        {StepKind::build, "build", 0, project.limits.build_seconds, "stops when it does not build or load"});
  if (options.baseline && options.performance) {
    plan.push_back({StepKind::baseline, "baseline", 0, 10.0 * static_cast<double>(project.shapes.size()),
                    "stops when the baseline does not reproduce",
                    fmt::format("within {:.0f} %", 100 * speed.baseline_within)});
  }
  for (std::size_t i = 0; options.correctness && i < project.shapes.size(); ++i) {
    if (!wanted(project.shapes[i])) continue;
    plan.push_back(
        {StepKind::correctness, "correctness/" + project.shapes[i].name, i, project.correctness.seconds,
         fmt::format("{} seeds; the first wrong element stops the session", project.correctness.seeds),
         "each element within its bound"});
  }
  if (options.sanitize) {
    plan.push_back({StepKind::sanitize, "sanitize", 0, project.limits.sanitize_seconds,
                    "the first finding stops the session"});
  }
  for (std::size_t i = 0; options.performance && i < project.shapes.size(); ++i) {
    if (!wanted(project.shapes[i])) continue;
    plan.push_back({StepKind::performance, "performance/" + project.shapes[i].name, i, speed.seconds,
                    fmt::format("interval narrower than {:.1f} % or time box; below {}x stops the session",
                                100 * speed.precision, speed.stop_below),
                    fmt::format("{}x", speed.profile_below)});
  }
  if (options.performance)
    plan.push_back({StepKind::summary, "performance", 0, 1, "geometric mean over shapes", "1x"});
  const bool profiles = options.profile == Profiling::always ||
                        (options.profile == Profiling::when_slow && options.performance);
  if (profiles) {
    std::size_t shape = project.shapes.size() - 1;
    for (std::size_t i = 0; i < project.shapes.size(); ++i) {
      if (!options.shapes.empty() && wanted(project.shapes[i])) shape = i;
    }
    plan.push_back(
        {StepKind::profile, "profile", shape, kProfileSeconds,
         "one bottleneck, or what is missing to name it",
         options.profile == Profiling::always ? "" : fmt::format("a shape below {}x", speed.profile_below)});
  }
  plan.push_back({StepKind::report, "report", 0, 5, "always written"});
  return plan;
}

std::vector<record::PlannedStep> plan_record(const std::vector<Step>& plan) {
  std::vector<record::PlannedStep> list;
  for (const Step& step : plan) list.push_back({step.name, step.time_box_s, step.stop_rule, step.threshold});
  return list;
}

std::vector<std::string> gates_of(const PlanOptions& options) {
  std::vector<std::string> gates;
  if (options.preflight) gates.emplace_back("preflight");
  if (options.build) gates.emplace_back("build");
  if (options.baseline) gates.emplace_back("baseline");
  if (options.correctness) gates.emplace_back("correctness");
  if (options.sanitize) gates.emplace_back("sanitize");
  if (options.performance) gates.emplace_back("performance");
  if (options.profile == Profiling::always) gates.emplace_back("profile");
  return gates;
}

PlanOptions options_of(const std::vector<std::string>& gates, const std::vector<std::string>& shapes) {
  const auto has = [&gates](const char* gate) {
    return std::find(gates.begin(), gates.end(), gate) != gates.end();
  };
  return {.preflight = has("preflight"),
          .build = has("build"),
          .baseline = has("baseline"),
          .correctness = has("correctness"),
          .performance = has("performance"),
          .sanitize = has("sanitize"),
          .profile = has("profile")       ? Profiling::always
                     : has("performance") ? Profiling::when_slow
                                          : Profiling::never,
          .shapes = shapes};
}

std::string plan_text(const std::vector<Step>& plan) {
  std::string text = fmt::format("{:<26} {:>9}  {}\n", "step", "time box", "stop rule");
  for (const Step& step : plan) {
    text += fmt::format("{:<26} {:>7.0f} s  {}{}\n", step.name, step.time_box_s, step.stop_rule,
                        step.threshold.empty() ? "" : " [" + step.threshold + "]");
  }
  return text;
}

}  // namespace dent

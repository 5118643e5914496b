// SPDX-License-Identifier: MIT
#include "session/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace dent {
namespace {

constexpr double kWriteReportSeconds = 5;

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_shapes(const Project& project, const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const Shape& shape : project.shapes) names.push_back(shape.name);
  for (const std::string& name : wanted) {
    if (has(names, name)) continue;
    throw Error(ErrorCode::invalid,
                fmt::format("no shape is called \"{}\"; there are {}", name, fmt::join(names, ", ")),
                did_you_mean(name, names));
  }
}

std::string left_out(std::string_view gate) { return fmt::format("-{}", gate); }

// What is slow can only be told where speed is measured.
bool in_plan(const Gate& gate, const std::vector<std::string>& asked) {
  if (has(asked, gate.info().name)) return true;
  if (has(asked, left_out(gate.info().name))) return false;
  return gate.info().in_run == InRun::when_slow && has(asked, performance_gate().info().name);
}

void add_shapes(std::vector<Step>& plan, const Gate& gate, const Project& project,
                const std::vector<std::size_t>& shapes) {
  for (const std::size_t shape : shapes) {
    if (gate.info().times && !project.shapes[shape].timed()) continue;
    plan.push_back(
        step_of(gate, project, fmt::format("{}/{}", gate.info().name, project.shapes[shape].name), shape));
  }
  if (auto entry = gate.plan_of_sum(project)) {
    Step sum = step_of(gate, project, std::string(gate.info().name));
    sum.time_box_s = entry->time_box_s;
    sum.stop_rule = std::move(entry->stop_rule);
    sum.threshold = std::move(entry->threshold);
    sum.sums_up = true;
    plan.push_back(std::move(sum));
  }
}

}  // namespace

std::vector<std::string> gates_of_run(const std::vector<std::string>& with,
                                      const std::vector<std::string>& without) {
  for (const auto* names : {&with, &without}) {
    for (const std::string& name : *names) gate_named(name);
  }
  std::vector<std::string> wanted, omitted;
  for (const Gate* gate : gates()) {
    const std::string name(gate->info().name);
    if (has(without, name)) {
      if (gate->info().in_run == InRun::when_slow) omitted.push_back(left_out(name));
      continue;
    }
    if (gate->info().in_run == InRun::always || has(with, name)) wanted.push_back(name);
  }
  for (const std::string& name : wanted) {
    for (const std::string_view need : gate_named(name).info().needs) {
      if (!has(wanted, need)) {
        throw Error(ErrorCode::invalid, fmt::format("{} needs {}, which is left out", name, need),
                    fmt::format("leave {} out as well: --without {}", name, name));
      }
    }
  }
  wanted.insert(wanted.end(), omitted.begin(), omitted.end());
  return wanted;
}

std::vector<std::string> gates_of_command(const Gate& gate) {
  std::vector<std::string> names;
  for (const Gate* needed : with_needs(gate)) names.emplace_back(needed->info().name);
  return names;
}

std::vector<Step> make_plan(const Project& project, const PlanRequest& request) {
  check_shapes(project, request.shapes);
  std::vector<std::size_t> shapes;
  for (std::size_t i = 0; i < project.shapes.size(); ++i) {
    if (request.shapes.empty() || has(request.shapes, project.shapes[i].name)) shapes.push_back(i);
  }
  const auto timed = [&](std::size_t shape) { return project.shapes[shape].timed(); };
  const auto last_timed = std::find_if(shapes.rbegin(), shapes.rend(), timed);
  std::vector<Step> plan;
  for (const Gate* gate : gates()) {
    if (!in_plan(*gate, request.gates)) continue;
    const std::string name(gate->info().name);
    if (gate->info().times && last_timed == shapes.rend()) {
      throw Error(
          ErrorCode::invalid,
          fmt::format("{} has weight 0: it is checked, and not timed", fmt::join(request.shapes, ", ")),
          "give it a weight in dent.toml, or ask about another shape");
    }
    switch (gate->info().scope) {
      case Scope::once:
        plan.push_back(step_of(*gate, project, name));
        break;
      case Scope::each_shape:
        add_shapes(plan, *gate, project, shapes);
        break;
      case Scope::worst_shape:
        plan.push_back(
            step_of(*gate, project, name, last_timed == shapes.rend() ? shapes.back() : *last_timed));
        plan.back().asked_for = has(request.gates, name);
        if (!plan.back().asked_for)
          plan.back().threshold = fmt::format("a shape below {}x", project.performance.profile_below);
        break;
    }
  }
  for (Step& step : plan) step.options = request.options;
  plan.push_back({.name = "report", .time_box_s = kWriteReportSeconds, .stop_rule = "always written"});
  return plan;
}

std::vector<record::PlannedStep> plan_record(const std::vector<Step>& plan) {
  std::vector<record::PlannedStep> list;
  for (const Step& step : plan) list.push_back({step.name, step.time_box_s, step.stop_rule, step.threshold});
  return list;
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

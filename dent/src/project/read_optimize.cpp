// SPDX-License-Identifier: MIT
#include "project/read_optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "project/choice.h"

namespace dent {
namespace {

constexpr std::size_t kMostValues = 4096;

bool holds(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string read_phase(StrictTable& table) {
  const std::string phase = table.text("phase").value_or("");
  const std::vector<std::string> known{"", "parallelism", "tensor cores", "memory", "compute", "tuning"};
  if (!holds(known, phase)) {
    table.fail("phase",
               "is \"" + phase + "\"; accepted are parallelism, tensor cores, memory, compute, tuning");
  }
  return phase;
}

// from, to, and step (added) or times (multiplied).
std::vector<std::string> read_range(StrictTable& table) {
  const double from = table.number("from").value_or(NAN), to = table.number("to").value_or(NAN);
  const double step = table.number("step").value_or(1), times = table.number("times").value_or(1);
  if (!(from <= to)) table.fail("values", "is missing", "values = [1, 2, 4], or from, to, and step or times");
  if (!(step > 0) || !(times >= 1) || (times > 1 && !(from > 0))) {
    table.fail("step", "steps must be above 0, times above 1 with from above 0");
  }
  std::vector<std::string> values;
  for (double value = from; value <= to && values.size() < kMostValues;
       value = times > 1 ? value * times : value + step) {
    values.push_back(fmt::format("{:g}", value));
  }
  return values;
}

Tunable read_tunable(StrictTable& tunables, const std::string& name) {
  Tunable tunable;
  tunable.name = name;
  if (tunables.is_table(name)) {
    auto table = *tunables.table(name);
    tunable.values = table.has("values") ? table.texts("values") : read_range(table);
    tunable.start = table.has("start") ? table.text_or_number("start") : "";
    tunable.phase = read_phase(table);
    tunable.about = table.text("about").value_or("");
    table.done();
  } else {
    tunable.values = tunables.texts(name);
  }
  if (tunable.values.empty()) tunables.fail(name, "has no values");
  if (tunable.start.empty()) tunable.start = tunable.values.front();
  if (!holds(tunable.values, tunable.start)) {
    tunables.fail(name, fmt::format("starts with {}, which is none of {}", tunable.start,
                                    fmt::join(tunable.values, ", ")));
  }
  return tunable;
}

Variant read_variant(StrictTable& table, const Project& project) {
  Variant variant;
  variant.name = table.required_text("name");
  if (!is_folder_name(variant.name)) table.fail("name", "is no name: it becomes a folder's", kFolderNames);
  variant.phase = read_phase(table);
  variant.about = table.text("about").value_or("");
  for (const Tunable& tunable : project.tunables) variant.tunables.push_back(tunable.name);
  if (table.has("tunables")) {
    const auto known = variant.tunables;
    variant.tunables = table.texts("tunables");
    for (const std::string& name : variant.tunables) {
      if (!holds(known, name)) table.fail("tunables", fmt::format("\"{}\" is not in [tunables]", name));
    }
  }
  Kernel base = project.kernel;
  if (table.has("sources") || table.has("library") || table.has("python"))
    base.launch = {};  // other code, another launch
  variant.kernel = read_kernel(table, std::move(base));
  if (variant.name == kFirstRung) table.fail("name", "\"kernel\" is [kernel] itself");
  if (variant.kernel.device != project.kernel.device) table.fail("device", "must be that of [kernel]");
  for (const Variant& other : project.variants) {
    if (other.name == variant.name) table.fail("name", "\"" + variant.name + "\" is there twice");
  }
  table.done();
  return variant;
}

void read_loop_rules(StrictTable& table, Project& project) {
  OptimizeRules& rules = project.optimize;
  read_positive(table, "target", rules.target);
  rules.target_shape = table.text("target_shape").value_or("");
  const auto named = [&](const Shape& shape) { return shape.name == rules.target_shape; };
  if (!rules.target_shape.empty() && std::none_of(project.shapes.begin(), project.shapes.end(), named)) {
    table.fail("target_shape", fmt::format("no shape is called \"{}\"", rules.target_shape));
  }
  const auto untimed = [&](const Shape& shape) { return named(shape) && !shape.timed(); };
  if (std::any_of(project.shapes.begin(), project.shapes.end(), untimed)) {
    table.fail("target_shape", fmt::format("\"{}\" has weight 0, so it is not timed", rules.target_shape),
               "give it a weight, or name another shape");
  }
  read_positive(table, "min_gain", rules.min_gain);
  read_positive(table, "shape_loss", rules.shape_loss);
  read_positive(table, "false_keep", rules.false_keep);
  rules.sanitize_every = read_count(table, "sanitize_every", rules.sanitize_every);
  rules.patch_lines = read_count(table, "patch_lines", rules.patch_lines);
  rules.files = table.texts("files");
  rules.protect = table.texts("protect");
  rules.constraints = table.texts("constraints");
  rules.proposers = table.texts("proposers");
  rules.command = table.text("command").value_or("");
  read_positive(table, "command_seconds", rules.command_seconds);
  rules.command_sandbox = read_sandbox(table, "command_sandbox");
  rules.command_network = table.flag("command_network").value_or(false);
  rules.command_paths = table.texts("command_paths");
  rules.command_env = table.texts("command_env");
  rules.held_out_shapes = read_shapes(table, "held_out_shapes");
  for (const std::string& proposer : rules.proposers) {
    if (!holds({"patterns", "variants", "search", "command"}, proposer)) {
      table.fail("proposers", "holds \"" + proposer + "\"; there are patterns, variants, search, command");
    }
  }
  table.done();
}

}  // namespace

int read_count(StrictTable& table, const char* key, int otherwise) {
  double value = otherwise;
  read_positive(table, key, value);
  if (value != std::floor(value) || value > 1e9)
    table.fail(key, fmt::format("is {}; it must be a whole number", value));
  return static_cast<int>(value);
}

void read_optimize(StrictTable& root, Project& project) {
  if (auto table = root.table("tunables")) {
    for (const std::string& key : table->keys()) project.tunables.push_back(read_tunable(*table, key));
  }
  for (const std::string& name : project.first_tunables.value_or(std::vector<std::string>())) {
    const auto known = [&](const Tunable& tunable) { return tunable.name == name; };
    if (std::none_of(project.tunables.begin(), project.tunables.end(), known)) {
      root.fail("kernel.tunables", fmt::format("\"{}\" is not in [tunables]", name));
    }
  }
  for (StrictTable& table : root.tables("variants")) project.variants.push_back(read_variant(table, project));
  if (auto table = root.table("optimize")) read_loop_rules(*table, project);
  if (auto table = root.table("budget")) {
    read_positive(*table, "minutes", project.budget.minutes);
    read_positive(*table, "device_minutes", project.budget.device_minutes);
    project.budget.iterations = read_count(*table, "iterations", 0);
    read_positive(*table, "usd", project.budget.usd);
    table->done();
  }
  if (auto table = root.table("rates")) {
    read_positive(*table, "device_usd_per_hour", project.rates.device_usd_per_hour);
    read_positive(*table, "agent_usd_per_hour", project.rates.agent_usd_per_hour);
    read_positive(*table, "engineer_usd_per_hour", project.rates.engineer_usd_per_hour);
    table->done();
  }
  if (const std::string broken = broken_constraint(project, project.choice); !broken.empty()) {
    throw Error(ErrorCode::invalid, "dent.toml: the tunables' starting values break a constraint: " + broken,
                "give those tunables another start");
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "project/choice.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace dent {
namespace {

const Variant* find_variant(const Project& project, const std::string& name) {
  for (const Variant& variant : project.variants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Comparator {
  std::string_view sign;
  bool (*holds)(double, double);
};
constexpr Comparator kComparators[] = {
    {"<=", [](double a, double b) { return a <= b; }}, {">=", [](double a, double b) { return a >= b; }},
    {"==", [](double a, double b) { return a == b; }}, {"!=", [](double a, double b) { return a != b; }},
    {"<", [](double a, double b) { return a < b; }},   {">", [](double a, double b) { return a > b; }},
};

// "a <= b": "" when it holds, else with both values.
std::string broken(const std::string& constraint, const Numbers& numbers) {
  for (const Comparator& comparator : kComparators) {
    const auto at = constraint.find(comparator.sign);
    if (at == std::string::npos) continue;
    const double left = evaluate(constraint.substr(0, at), numbers);
    const double right = evaluate(constraint.substr(at + comparator.sign.size()), numbers);
    return comparator.holds(left, right) ? "" : fmt::format("{} ({:g} and {:g})", constraint, left, right);
  }
  throw Error(ErrorCode::invalid, "constraint \"" + constraint + "\" compares nothing",
              "write it as \"TILE*TILE*4 <= 32768\"; accepted are <=, >=, ==, !=, <, >");
}

}  // namespace

std::vector<const Tunable*> tunables_of(const Project& project, const Choice& choice) {
  const Variant* variant = find_variant(project, choice.variant);
  const std::vector<std::string>* read = variant != nullptr       ? &variant->tunables
                                         : project.first_tunables ? &*project.first_tunables
                                                                  : nullptr;
  std::vector<const Tunable*> found;
  for (const Tunable& tunable : project.tunables) {
    if (read == nullptr || std::find(read->begin(), read->end(), tunable.name) != read->end()) {
      found.push_back(&tunable);
    }
  }
  return found;
}

const std::string& value_of(const Tunable& tunable, const Choice& choice) {
  const auto found = choice.tunables.find(tunable.name);
  return found == choice.tunables.end() ? tunable.start : found->second;
}

Kernel kernel_of(const Project& project, const Choice& choice) {
  Kernel kernel = project.first_rung;
  if (!choice.variant.empty()) {
    const Variant* variant = find_variant(project, choice.variant);
    if (variant == nullptr) throw Error(ErrorCode::invalid, "there is no variant \"" + choice.variant + "\"");
    kernel = variant->kernel;
  }
  for (const Tunable* tunable : tunables_of(project, choice)) {
    kernel.defines.emplace_back(tunable->name, value_of(*tunable, choice));
  }
  return kernel;
}

std::string broken_constraint(const Project& project, const Choice& choice) {
  for (const std::string& constraint : project.optimize.constraints) {
    for (const Shape& shape : project.shapes) {
      Numbers numbers = project.op.parameters;
      for (const auto& [key, value] : shape.sizes) numbers[key] = value;
      for (const Tunable& tunable : project.tunables) {
        if (const auto value = number_in(value_of(tunable, choice))) numbers[tunable.name] = *value;
      }
      if (std::string text = broken(constraint, numbers); !text.empty()) return text;
    }
  }
  return {};
}

std::string tuned_text(const Choice& choice) {
  std::string text =
      "# What `dent optimize` has chosen among the manifest's [tunables] and [[variants]]. Every dent "
      "command builds\n"
      "# the kernel with it; remove this file to build it as dent.toml starts it.\n";
  toml::table table;
  if (!choice.variant.empty()) table.insert("variant", choice.variant);
  toml::table values;
  for (const auto& [name, value] : choice.tunables) values.insert(name, value);
  if (!values.empty()) table.insert("tunables", std::move(values));
  std::ostringstream written;
  written << table;
  return text + written.str() + "\n";
}

Choice parse_tuned(std::string_view text, const Project& project) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& problem) {
    throw Error(ErrorCode::invalid, fmt::format("{}, line {}: {}", kTunedName, problem.source().begin.line,
                                                std::string(problem.description())));
  }
  Choice choice;
  choice.variant = table["variant"].value_or(std::string());
  if (!choice.variant.empty() && find_variant(project, choice.variant) == nullptr) {
    throw Error(ErrorCode::invalid,
                fmt::format("{}: the manifest has no variant \"{}\"", kTunedName, choice.variant),
                "remove the file, or give the manifest that variant back");
  }
  if (const toml::table* values = table["tunables"].as_table()) {
    for (const auto& [key, node] : *values) {
      const std::string name(key.str()), value = node.value_or(std::string());
      const auto known = std::find_if(project.tunables.begin(), project.tunables.end(),
                                      [&name = name](const Tunable& t) { return t.name == name; });
      if (known == project.tunables.end() ||
          std::find(known->values.begin(), known->values.end(), value) == known->values.end()) {
        throw Error(
            ErrorCode::invalid,
            fmt::format("{}: {} = \"{}\" is not among the manifest's tunables", kTunedName, name, value),
            "remove the file, or give the manifest that value back");
      }
      if (value != known->start) choice.tunables[name] = value;
    }
  }
  return choice;
}

std::string describe(const Choice& choice) {
  std::string text;
  for (const auto& [name, value] : choice.tunables) text += (text.empty() ? "" : ", ") + name + "=" + value;
  if (!choice.variant.empty()) text += (text.empty() ? "" : ", ") + ("variant " + choice.variant);
  return text.empty() ? "as it started" : text;
}

}  // namespace dent

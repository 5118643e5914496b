// SPDX-License-Identifier: MIT
#include "gates/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace dent {
namespace {

void add_needs(const Gate& gate, std::vector<const Gate*>& wanted) {
  if (std::find(wanted.begin(), wanted.end(), &gate) != wanted.end()) return;
  wanted.push_back(&gate);
  for (const std::string_view need : gate.info().needs) add_needs(gate_named(need), wanted);
}

std::string_view in_words(InRun when) {
  switch (when) {
    case InRun::always:
      return "always";
    case InRun::when_asked:
      return "with `--with`";
    case InRun::when_slow:
      return "when a shape is slow";
  }
  throw Error(ErrorCode::internal, "a gate has an unknown InRun value");
}

}  // namespace

std::span<const Gate* const> gates() {
  static const Gate* const all[] = {
      &preflight_gate(),    //
      &build_gate(),        //
      &baseline_gate(),     //
      &correctness_gate(),  //
      &sanitize_gate(),     //
      &performance_gate(),  //
      &profile_gate(),
  };
  return all;
}

const Gate& gate_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Gate* gate : gates()) {
    if (gate->info().name == name) return *gate;
    names.emplace_back(gate->info().name);
  }
  throw Error(ErrorCode::invalid,
              fmt::format("no gate is called \"{}\"; gates are {}", name, fmt::join(names, ", ")),
              did_you_mean(name, names));
}

std::vector<const Gate*> with_needs(const Gate& gate) {
  std::vector<const Gate*> wanted, ordered;
  add_needs(gate, wanted);
  for (const Gate* known : gates()) {
    if (std::find(wanted.begin(), wanted.end(), known) != wanted.end()) ordered.push_back(known);
  }
  return ordered;
}

std::string gates_as_markdown() {
  std::string text =
      "| gate | question | alone | in `dent run` | passes when | else |\n| --- | --- | --- | --- | --- | --- "
      "|\n";
  for (const Gate* gate : gates()) {
    const GateInfo& info = gate->info();
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", info.name, info.question,
                        info.command.empty() ? "" : fmt::format("`dent {}`", info.command),
                        in_words(info.in_run), info.passes_when, info.otherwise);
  }
  return text;
}

}  // namespace dent

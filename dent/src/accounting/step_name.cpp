// SPDX-License-Identifier: MIT
#include "accounting/step_name.h"

#include <algorithm>
#include <charconv>

#include "records/session.h"

namespace dent {
namespace {

struct GateName {
  std::string_view name;
  Uses uses;
};
constexpr GateName kGates[] = {
    {"preflight", Uses::nothing},  {"build", Uses::compiler},      {"baseline", Uses::device},
    {"correctness", Uses::device}, {"performance", Uses::device},  {"sanitize", Uses::device},
    {"profile", Uses::nothing},    {"diagnosis", Uses::nothing},   {"report", Uses::nothing},
    {"screening", Uses::device},   {"confirmation", Uses::device}, {"standing", Uses::device},
    {"gain", Uses::device}};

std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return part;
}

// Decides by the first part that names a gate, since a shape, which follows it, may have a gate's name too.
Uses uses_of(std::string_view step) {
  while (!step.empty()) {
    const std::string_view part = take_part(step);
    const auto* gate = std::find_if(std::begin(kGates), std::end(kGates),
                                    [part](const GateName& known) { return known.name == part; });
    if (gate != std::end(kGates)) return gate->uses;
  }
  return Uses::nothing;
}

}  // namespace

std::optional<int> iteration_of(std::string_view step) {
  const std::string_view first = take_part(step);
  int number = 0;
  const auto [end, problem] = std::from_chars(first.data(), first.data() + first.size(), number);
  if (problem != std::errc{} || end != first.data() + first.size()) return std::nullopt;
  return number;
}

bool compiles(std::string_view step) { return uses_of(step) == Uses::compiler; }

bool runs_kernels(std::string_view step) { return uses_of(step) == Uses::device; }

}  // namespace dent

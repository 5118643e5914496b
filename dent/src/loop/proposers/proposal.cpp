// SPDX-License-Identifier: MIT
#include "loop/proposers/proposal.h"

#include <fmt/format.h>

#include <algorithm>

#include "project/choice.h"

namespace dent {
namespace {

std::string wrong_assignment(const Assignment& assignment, const Project& project, const Choice& incumbent) {
  const auto known = tunables_of(project, incumbent);
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Tunable* t) { return t->name == assignment.tunable; });
  if (found == known.end()) {
    return fmt::format("there is no tunable \"{}\" for {}", assignment.tunable,
                       incumbent.variant.empty() ? kFirstRung : incumbent.variant);
  }
  const auto& values = (*found)->values;
  if (std::find(values.begin(), values.end(), assignment.value) == values.end()) {
    return fmt::format("{} can't be \"{}\"; accepted are {}", assignment.tunable, assignment.value,
                       fmt::join(values, ", "));
  }
  if (value_of(**found, incumbent) == assignment.value) {
    return fmt::format("{} is {} already", assignment.tunable, assignment.value);
  }
  return {};
}

std::string wrong_variant(const std::string& name, const Project& project, const Choice& incumbent) {
  const bool known = name == kFirstRung || std::any_of(project.variants.begin(), project.variants.end(),
                                                       [&](const Variant& v) { return v.name == name; });
  if (!known) return fmt::format("there is no variant \"{}\"", name);
  if ((incumbent.variant.empty() ? kFirstRung : incumbent.variant) == name) {
    return fmt::format("{} is the incumbent already", name);
  }
  return {};
}

}  // namespace

std::string what_is_wrong(const Proposal& proposal, const Project& project, const Choice& incumbent) {
  if (!proposal.refusal.empty()) return proposal.refusal;
  const int changes = (proposal.assignment ? 1 : 0) + (proposal.variant ? 1 : 0) + (proposal.source ? 1 : 0);
  if (changes != 1) return fmt::format("{} changes at once; one variable at a time", changes);
  if (proposal.hypothesis.change.empty()) return "no hypothesis: it must say what is changed and why";
  std::string wrong;
  if (proposal.assignment) wrong = wrong_assignment(*proposal.assignment, project, incumbent);
  if (proposal.variant) wrong = wrong_variant(*proposal.variant, project, incumbent);
  if (proposal.source && proposal.source->files.empty()) wrong = "a source change that declares no files";
  if (proposal.source && proposal.source->patch.empty()) wrong = "a source change without a difference";
  if (!wrong.empty()) return wrong;
  if (const std::string broken = broken_constraint(project, applied(proposal, incumbent)); !broken.empty()) {
    return "breaks the constraint " + broken;
  }
  return {};
}

Choice applied(const Proposal& proposal, const Choice& incumbent) {
  Choice choice = incumbent;
  if (proposal.assignment) choice.tunables[proposal.assignment->tunable] = proposal.assignment->value;
  if (proposal.variant) choice.variant = *proposal.variant == kFirstRung ? "" : *proposal.variant;
  return choice;
}

}  // namespace dent

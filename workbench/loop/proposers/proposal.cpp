// SPDX-License-Identifier: MIT
#include "loop/proposers/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "project/choice.h"

namespace dent {
namespace {

using nlohmann::json;

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

json to_json(const Proposal& proposal) {
  json out{{"proposer", proposal.proposer},
           {"phase", name(proposal.phase)},
           {"bottleneck", proposal.hypothesis.bottleneck},
           {"change", proposal.hypothesis.change},
           {"expected", proposal.hypothesis.expected},
           {"spend",
            {{"seconds", proposal.spend.seconds},
             {"usd", proposal.spend.usd},
             {"input_tokens", proposal.spend.input_tokens},
             {"output_tokens", proposal.spend.output_tokens}}}};
  if (proposal.assignment) {
    out["assignment"] = {{"tunable", proposal.assignment->tunable}, {"value", proposal.assignment->value}};
  }
  if (proposal.variant) out["variant"] = *proposal.variant;
  if (proposal.source) out["files"] = proposal.source->files;
  if (!proposal.pattern.empty()) out["pattern"] = proposal.pattern;
  if (!proposal.refusal.empty()) out["refusal"] = proposal.refusal;
  return out;
}

Proposal proposal_of(const json& record) {
  Proposal proposal;
  proposal.proposer = record.at("proposer");
  proposal.phase = parse_phase(record.at("phase").get<std::string>());
  proposal.hypothesis = {record.at("bottleneck"), record.at("change"), record.at("expected")};
  if (const auto spend = record.find("spend"); spend != record.end()) {
    proposal.spend = {spend->value("seconds", 0.0), spend->value("usd", 0.0),
                      spend->value("input_tokens", 0LL), spend->value("output_tokens", 0LL)};
  }
  if (const auto a = record.find("assignment"); a != record.end()) {
    proposal.assignment = Assignment{a->at("tunable"), a->at("value")};
  }
  if (record.contains("variant")) proposal.variant = record.at("variant").get<std::string>();
  if (record.contains("files")) proposal.source = SourceChange{record.at("files"), ""};
  proposal.pattern = record.value("pattern", "");
  proposal.refusal = record.value("refusal", "");
  return proposal;
}

}  // namespace dent

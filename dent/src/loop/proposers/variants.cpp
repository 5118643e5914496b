// SPDX-License-Identifier: MIT
#include "loop/proposers/variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "project/choice.h"

namespace dent {

std::optional<Proposal> VariantsProposer::propose(const Brief& brief) {
  const auto& variants = brief.project->variants;
  const auto now = std::find_if(variants.begin(), variants.end(),
                                [&](const Variant& v) { return v.name == brief.incumbent.variant; });
  for (auto rung = now == variants.end() ? variants.begin() : now + 1; rung != variants.end(); ++rung) {
    if (brief.was_tried(rung->name) || parse_phase(rung->phase) != brief.phase) continue;
    Proposal proposal;
    proposal.proposer = name();
    proposal.phase = brief.phase;
    proposal.variant = rung->name;
    proposal.hypothesis = {
        fmt::format("{}: {} does not do what {} does", dent::name(brief.phase),
                    brief.incumbent.variant.empty() ? kFirstRung : brief.incumbent.variant, rung->name),
        rung->about.empty() ? "variant " + rung->name : rung->about,
        "faster on every shape, or on most and no slower on any"};
    return proposal;
  }
  return std::nullopt;
}

std::optional<Proposal> ByPhase::propose(const Brief& brief) {
  const auto ask = [&](Proposer& proposer, Phase phase) {
    Brief narrowed = brief;
    narrowed.phase = phase;
    return proposer.propose(narrowed);
  };
  if (brief.phase == Phase::tuning) {  // the diagnosis names nothing: no phase is skipped, rungs come first
    for (const auto& proposer : proposers_) {
      for (const Phase phase : kPhases) {
        if (auto proposal = ask(*proposer, phase)) return proposal;
      }
    }
    return std::nullopt;
  }
  std::vector<Phase> order{brief.phase};
  for (const Phase phase : kPhases) {
    if (phase != brief.phase) order.push_back(phase);
  }
  for (const Phase phase : order) {
    for (const auto& proposer : proposers_) {
      if (auto proposal = ask(*proposer, phase)) return proposal;
    }
  }
  return std::nullopt;
}

}  // namespace dent

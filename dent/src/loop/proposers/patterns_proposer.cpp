// SPDX-License-Identifier: MIT
#include "loop/proposers/patterns_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "patterns/pattern.h"
#include "project/choice.h"

namespace dent {
namespace {

bool named(const std::vector<std::string>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return same_name(n, name); });
}

bool was_tried(const Brief& brief, const Choice& choice) {
  const auto is_it = [&](const PastIteration& past) {
    return past.choice == choice && !past.proposal.source;
  };
  return std::any_of(brief.history.begin(), brief.history.end(), is_it) ||
         std::any_of(brief.pending.begin(), brief.pending.end(), is_it);
}

// A variant that is the pattern's fix, above the incumbent's rung and not tried yet.
std::optional<std::string> variant_for(const Brief& brief, const std::vector<std::string>& names) {
  const auto& variants = brief.project->variants;
  const auto now = std::find_if(variants.begin(), variants.end(),
                                [&](const Variant& v) { return v.name == brief.incumbent.variant; });
  for (auto rung = now == variants.end() ? variants.begin() : now + 1; rung != variants.end(); ++rung) {
    if (!brief.was_tried(rung->name) && named(names, rung->name)) return rung->name;
  }
  return std::nullopt;
}

// The nearest value in the pattern's direction that was not tried yet.
std::optional<Assignment> assignment_for(const Brief& brief, const record::PatternTunable& fix) {
  const std::string& change = fix.change;
  for (const Tunable* tunable : tunables_of(*brief.project, brief.incumbent)) {
    if (!named(fix.names, tunable->name)) continue;
    const auto& values = tunable->values;
    const auto now =
        std::find(values.begin(), values.end(), value_of(*tunable, brief.incumbent)) - values.begin();
    std::vector<std::string> wanted;
    if (change == "up" || change == "any")
      wanted.insert(wanted.end(), values.begin() + now + 1, values.end());
    if (change == "down" || change == "any") {
      wanted.insert(wanted.end(), values.rend() - now, values.rend());
    }
    if (wanted.empty() && std::find(values.begin(), values.end(), change) != values.end())
      wanted.push_back(change);
    for (const std::string& value : wanted) {
      Choice choice = brief.incumbent;
      choice.tunables[tunable->name] = value;
      if (value != value_of(*tunable, brief.incumbent) && !was_tried(brief, choice) &&
          broken_constraint(*brief.project, choice).empty()) {
        return Assignment{tunable->name, value};
      }
    }
  }
  return std::nullopt;
}

// A pattern that has lost twice here is left alone, whatever it promises.
bool worn_out(const Brief& brief, const std::string& pattern) {
  int losses = 0;
  for (const PastIteration& past : brief.history) {
    if (past.proposal.pattern == pattern) losses = past.outcome.kept ? 0 : losses + 1;
  }
  return losses >= 2;
}

}  // namespace

std::optional<Proposal> PatternsProposer::propose(const Brief& brief) {
  if (!brief.diagnosis) return std::nullopt;
  for (const record::PatternHint& hint : brief.diagnosis->patterns) {
    if (worn_out(brief, hint.pattern)) continue;
    Proposal proposal;
    proposal.variant = variant_for(brief, hint.variants);
    if (!proposal.variant && hint.tunable) proposal.assignment = assignment_for(brief, *hint.tunable);
    if (!proposal.variant && !proposal.assignment) continue;
    proposal.proposer = name();
    proposal.pattern = hint.pattern;
    proposal.phase = hint.phase.empty() ? brief.phase : parse_phase(hint.phase);
    const std::string& says = brief.diagnosis->finding.says;
    proposal.hypothesis = {
        says.empty() ? hint.why : says,
        fmt::format("{} ({}): {}", hint.title, hint.pattern,
                    proposal.variant ? "variant " + *proposal.variant
                                     : proposal.assignment->tunable + " = " + proposal.assignment->value),
        fmt::format("{:.2f}x, as the pattern has it", hint.expected_gain)};
    return proposal;
  }
  return std::nullopt;
}

}  // namespace dent

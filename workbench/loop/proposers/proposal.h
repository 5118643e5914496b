// SPDX-License-Identifier: MIT
// One change to a kernel, and why it should help: said before it is tried.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "records/phase.h"
#include "project/project.h"

namespace dent {

struct Hypothesis {
  std::string bottleneck;  // what holds the kernel back: "2 CTAs on 58 SMs"
  std::string change;      // what is changed: "split K/V over 4 CTAs"
  std::string expected;    // what that should do: "up to 4x at S = 128"
};

struct Assignment {
  std::string tunable;
  std::string value;
};

// An edit of sources, as `git diff` writes it, with paths relative to the project's folder.
struct SourceChange {
  std::vector<std::string> files;  // declared: the patch may touch no other
  std::string patch;
};

// What the proposer itself took; booked whether the change is kept or not.
struct Spend {
  double seconds = 0;
  double usd = 0;  // as reported; 0: by the manifest's rate
  long long input_tokens = 0;
  long long output_tokens = 0;
};

// One variable at a time: exactly one of the three is set.
struct Proposal {
  std::string proposer;  // "search", "variants", "patterns", "command", "mcp"
  Phase phase = Phase::tuning;
  Hypothesis hypothesis;
  std::optional<Assignment> assignment{};
  std::optional<std::string> variant{};
  std::optional<SourceChange> source{};
  Spend spend{};
  std::string pattern{};  // the pattern that it follows, where one does
  std::string refusal{};  // why it must not be tried: its proposer made no sense, or touched what it may not
};

// Why it is not one change, or names what is not there; "" when it can be tried. Patches are looked at when
// they are applied.
std::string what_is_wrong(const Proposal& proposal, const Project& project, const Choice& incumbent);

// The choice that the proposal makes of the incumbent's.
Choice applied(const Proposal& proposal, const Choice& incumbent);

nlohmann::json to_json(const Proposal& proposal);  // the patch's text is not in it: it is an artifact
Proposal proposal_of(const nlohmann::json& record);

}  // namespace dent

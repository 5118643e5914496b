// SPDX-License-Identifier: MIT
// One change to a kernel, and the hypothesis why it helps, which is recorded before it is tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/fields.h"
#include "records/phase.h"

namespace dent {

struct Hypothesis {
  std::string bottleneck;  // what limits the kernel: "2 CTAs on 58 SMs"
  std::string change;      // what is changed: "split K/V over 4 CTAs"
  std::string expected;    // expected effect: "up to 4x at S = 128"
  bool operator==(const Hypothesis&) const = default;
};

struct Assignment {
  std::string tunable;
  std::string value;
  bool operator==(const Assignment&) const = default;
};

// A patch to source files in `git diff` format, with paths relative to the project's folder.
struct SourceChange {
  std::vector<std::string> files;  // declared; the patch must not touch others
  std::string patch{};             // kept as an artifact, not in the ledger
  bool operator==(const SourceChange&) const = default;
};

// Cost of the proposal itself, booked whether the change is kept or not.
struct Spend {
  double seconds = 0;
  double usd = 0;  // as reported; 0: computed from the manifest's rate
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  bool operator==(const Spend&) const = default;
};

// Changes one variable: exactly one of assignment, variant and source is set.
struct Proposal {
  std::string proposer;  // "search", "variants", "patterns", "command", "evaluate"
  Phase phase = Phase::tuning;
  Hypothesis hypothesis;
  std::optional<Assignment> assignment{};
  std::optional<std::string> variant{};
  std::optional<SourceChange> source{};
  Spend spend{};
  std::string pattern{};  // pattern that it follows, if any
  std::string refusal{};  // why it must not be tried: invalid output, or a protected file was touched
  bool done = false;      // its proposer has no more ideas; `refusal` says so too
  bool operator==(const Proposal&) const = default;
};

void fields(Fields& f, Assignment& assignment);
void fields(Fields& f, Spend& spend);
void fields(Fields& f, Proposal& proposal);

}  // namespace dent

// SPDX-License-Identifier: MIT
// One gate, asked once: what it is called on record, about which shape, within which time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "gates/context.h"
#include "gates/gate.h"

namespace dent {

struct Step {
  std::string name{};                  // "correctness/tiny", "003/screening/tiny"
  const Gate* gate = nullptr;          // who answers; none: the session itself
  std::optional<std::size_t> shape{};  // of the problems; for the worst shape: when nothing was measured
  double time_box_s = 0;
  std::string stop_rule{};
  std::string threshold{};
  bool sums_up = false;                 // over the shapes that the gate was asked about
  bool asked_for = true;                // by name: not only when it is slow
  bool shown = true;                    // a line of its own for people; else a part of one
  bool may_fail = false;                // without an end to the session: on record as skipped
  bool held_out = false;                // the shape is one that no proposer has seen
  std::optional<MeasureRules> rules{};  // over the manifest's
  GateOptions options{};
};

// As the gate plans it.
Step step_of(const Gate& gate, const Project& project, std::string name,
             std::optional<std::size_t> shape = std::nullopt);

}  // namespace dent

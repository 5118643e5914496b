// SPDX-License-Identifier: MIT
// One question to a kernel. All that a plan, a command, a tool for agents, a page of documentation and a cost
// account need of it is in its GateInfo; gates/registry.h lists them all.
//
// A gate has no state: what changes is in its context, and it knows neither ledger nor git, screen or budget.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gates/result.h"
#include "operators/problem.h"
#include "project/project.h"
#include "records/session.h"

namespace dent {

struct GateContext;  // gates/context.h

enum class Scope {
  once,
  each_shape,
  worst_shape  // the one that stands worst against the baseline
};

enum class InRun {
  always,
  when_asked,
  when_slow  // a shape is below performance.profile_below, or it is asked for
};

// What `dent run` and the gate's own command take as flags, and tools as arguments.
struct GateOptions {
  bool clean = false;       // build from scratch
  bool rebaseline = false;  // forget the recorded baseline
  bool operator==(const GateOptions&) const = default;
};
struct GateOption {
  std::string_view name;  // "clean"
  std::string_view about;
  bool GateOptions::*flag;
};

struct GateInfo {
  std::string_view name;      // steps are called name or name/shape
  std::string_view command;   // of its own; "" where it has none
  std::string_view question;  // that it answers
  std::string_view about;     // one line for the command's help
  std::string_view passes_when;
  std::string_view otherwise{};  // what its failure says
  std::string_view example{};
  Scope scope = Scope::once;
  Uses uses = Uses::nothing;
  std::vector<std::string_view> needs{};  // gates that must have passed before
  InRun in_run = InRun::always;
  bool times = false;  // asked only about shapes that have a weight
  std::vector<GateOption> options{};
  std::vector<std::string_view> kinds{};  // of record that it may write besides its end
};

struct PlanEntry {
  double time_box_s = 0;
  std::string stop_rule{};
  std::string threshold{};
};

class Gate {
 public:
  virtual ~Gate() = default;
  virtual const GateInfo& info() const = 0;
  virtual PlanEntry plan(const Project& project) const = 0;
  virtual GateResult run(GateContext& at) const = 0;

  // After its last shape, as a step that has the gate's name alone; nothing where shapes don't add up.
  virtual std::optional<PlanEntry> plan_of_sum(const Project&) const { return std::nullopt; }
  virtual GateResult sum_up(GateContext&) const { return skipped("nothing to add up"); }

  // Whether it still runs when a gate before it has failed for that cause.
  virtual bool runs_after(Cause) const { return false; }
};

// Tells people how far a gate is: 0 to 1 of its work, and what it does.
using Progress = std::function<void(double share, const std::string& doing)>;

}  // namespace dent

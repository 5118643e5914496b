// SPDX-License-Identifier: MIT
// A gate answers one question about a kernel. Its GateInfo holds all that plans, commands, agents' tools,
// documentation and cost accounts need of it; gates/registry.h lists all gates.
//
// A gate has no state: everything that changes is in its context. It knows neither ledger nor git, screen or
// budget.
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
  worst_shape  // the shape with the worst ratio to the baseline
};

enum class InRun {
  always,
  when_asked,
  when_slow  // if a shape is below performance.profile_below, or on request
};

// Flags of `dent run` and of the gate's own command, and arguments of agents' tools.
struct GateOptions {
  bool clean = false;       // build from scratch
  bool rebaseline = false;  // record the baseline again
  bool operator==(const GateOptions&) const = default;
};
struct GateOption {
  std::string_view name;  // "clean"
  std::string_view about;
  bool GateOptions::*flag;
};

struct GateInfo {
  std::string_view name;      // steps are called "name" or "name/shape"
  std::string_view command;   // its own command; "" if it has none
  std::string_view question;  // the question that it answers
  std::string_view about;     // one line for the command's help
  std::string_view passes_when;
  std::string_view otherwise{};  // meaning of a failure
  std::string_view example{};
  Scope scope = Scope::once;
  Uses uses = Uses::nothing;
  std::vector<std::string_view> needs{};  // gates that must pass first
  InRun in_run = InRun::always;
  bool times = false;  // runs only for shapes that have a weight
  std::vector<GateOption> options{};
  std::vector<std::string_view> kinds{};  // kinds of records that it may write, besides its end
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

  // Plan of the step after the last shape, which has the gate's name alone; nothing if shapes have no sum.
  virtual std::optional<PlanEntry> plan_of_sum(const Project&) const { return std::nullopt; }
  virtual GateResult sum_up(GateContext&) const { return skipped("nothing to summarise"); }

  // Whether the gate runs although an earlier gate failed for this cause.
  virtual bool runs_after(Cause) const { return false; }
};

// Tells people how far a gate is: share of its work from 0 to 1, and what it does.
using Progress = std::function<void(double share, const std::string& doing)>;

}  // namespace dent

// SPDX-License-Identifier: MIT
// All that a proposer is told. It never sees seeds, held-out shapes or expected outputs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "records/outcome.h"
#include "loop/proposers/proposal.h"

namespace dent {

struct PastIteration {
  int number = 0;
  Proposal proposal;
  Outcome outcome;
  Choice choice;  // that was tried
};

struct BudgetLeft {  // nothing: no limit
  std::optional<double> seconds, device_seconds, usd;
  std::optional<int> iterations;
};

struct ShapeNow {
  Shape shape;
  double baseline_ns = 0, incumbent_ns = 0;
};

struct Brief {
  const Project* project = nullptr;  // its tunables, variants and rules
  int iteration = 1;
  std::string goal;    // one line, for people and agents
  double target = 0;   // times the baseline's speed; 0: as far as it goes
  double speedup = 0;  // the incumbent's, over the baseline
  BudgetLeft left;
  Phase phase = Phase::parallelism;  // that the diagnosis points to
  nlohmann::json diagnosis;          // of the incumbent, as `dent diagnose` has it; null: there is none
  nlohmann::json patterns;           // that match it; null: none were looked for
  Choice incumbent;
  Choice first;  // that the loop started from
  std::vector<ShapeNow> shapes;
  std::vector<PastIteration> history;
  std::vector<std::string> allowed_files;  // patterns, relative to the project's folder
  std::vector<std::string> protected_files;
  int patch_lines = 0;  // that a change may have at most
  // The project's folder in a worktree that holds the incumbent. A proposer that edits sources does it there;
  // the loop takes the difference and puts the worktree back.
  std::filesystem::path worktree;
};

nlohmann::json to_json(const Brief& brief);

}  // namespace dent

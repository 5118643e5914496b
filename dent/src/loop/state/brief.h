// SPDX-License-Identifier: MIT
// All that a proposer is told. It never sees seeds, held-out shapes or expected outputs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "accounting/budget.h"
#include "project/project.h"
#include "records/diagnosis.h"
#include "records/outcome.h"
#include "records/proposal.h"

namespace dent {

struct PastIteration {
  int number = 0;
  Proposal proposal;
  Outcome outcome;
  Choice choice;  // that was tried
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
  Phase phase = Phase::parallelism;              // that the diagnosis points to
  std::optional<record::Diagnosis> diagnosis{};  // of the incumbent, with the patterns that match it
  Choice incumbent;
  Choice first;  // that the loop started from
  std::vector<ShapeNow> shapes;
  std::vector<PastIteration> history;
  std::vector<PastIteration> pending;      // that are being tried; their outcomes say nothing
  std::vector<std::string> allowed_files;  // patterns, relative to the project's folder
  std::vector<std::string> protected_files;
  int patch_lines = 0;  // that a change may have at most
  // The project's folder in a worktree that holds the incumbent. A proposer that edits sources does it there;
  // the loop takes the difference and puts the worktree back.
  std::filesystem::path worktree;

  bool was_tried(const std::string& variant) const;  // or is being tried
};

// The JSON document for programs: dent/docs/proposers.md has its fields.
std::string brief_document(const Brief& brief);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Where a loop stands, read from its session's records and from nothing else: a loop that was killed goes on
// from it, and reports are made of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loop/state/brief.h"
#include "records/any_record.h"

namespace dent {

struct Iteration {
  int number = 0;
  std::string time;  // of its record
  Proposal proposal;
  Choice choice;                     // that is tried
  std::string parent;                // commit of the incumbent that it started from
  std::string patch;                 // artifact
  std::optional<Outcome> outcome{};  // nothing: it is being tried, or was interrupted
  std::string commit{};              // when it was kept
  bool again = false;                // it is compared with an incumbent that was kept while it was tried
  double speedup = 0;                // of the incumbent after it, over the baseline: gains multiplied,
  bool measured = false;             // or measured against it
};

struct LoopState {
  bool opened = false;  // there is a loop record
  std::string base;     // commit that the loop started from
  std::string branch;
  std::string harness;  // hash of the files that say what is right and what is compared with
  double target = 0;
  std::string target_shape;  // empty: the mean of all shapes
  int most_iterations = 0;
  double minutes = 0;
  double confirmation_alpha = 0;
  Choice start;
  std::string executor;                      // that measures; empty: this process
  int parallel = 1;                          // candidates at a time
  std::optional<record::Standing> first{};   // at the start
  std::optional<record::Standing> latest{};  // before the end
  std::optional<record::Standing> winner{};  // at the end, of what had won
  std::vector<Iteration> iterations;
  std::optional<record::Diagnosis> diagnosis{};  // of the incumbent
  std::vector<record::BudgetMark> warned;        // shares of the budget that were warned of
  std::optional<record::LoopEnd> ended{};        // why iterations ended; nothing while they go on

  const Iteration* last_kept() const;
  const Iteration* last_done() const;  // outcomes come in the order of the iterations
  const Iteration* next() const;       // the first without an outcome
  std::string incumbent_commit() const;
  Choice incumbent() const;
  double speedup() const;         // of the incumbent, over the baseline
  double towards_target() const;  // the same where the target counts
  bool measured() const;          // against the baseline itself, rather than step by step
  bool reached() const;           // there is a target, and a measurement says so
  std::vector<ShapeNow> shapes(const std::vector<Shape>& all) const;
  int done() const;       // iterations with an outcome
  int in_flight() const;  // those without
};

// " at <shape>", or "" where the target is one for the mean.
std::string where_the_target_counts(const LoopState& state);

LoopState state_of(std::span<const Record> records);

}  // namespace dent

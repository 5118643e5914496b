// SPDX-License-Identifier: MIT
// Where a loop stands, read from its session's records and from nothing else: a loop that was killed goes on
// from it, and reports are made of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/record.h"
#include "loop/state/brief.h"

namespace dent {

// Steps of the last check begin with it, then comes the iteration that won.
inline constexpr const char* kWinner = "winner";
inline constexpr const char* kTargetReached = "target reached";  // why a loop has ended

struct Standing {  // of the incumbent against the baseline, as measured
  Ratio ratio;
  std::vector<ShapeGain> shapes;
};

struct Iteration {
  int number = 0;
  std::string time;  // of its record
  Proposal proposal;
  Choice choice;                     // that is tried
  std::string parent;                // commit of the incumbent that it started from
  std::string patch;                 // artifact
  std::optional<Outcome> outcome{};  // nothing: it was interrupted
  std::string commit{};              // when it was kept
  double speedup = 0;                // of the incumbent after it, over the baseline: gains multiplied,
  bool measured = false;             // or measured against it
};

struct LoopState {
  bool opened = false;  // there is a "loop" record
  std::string base;     // commit that the loop started from
  std::string branch;
  std::string harness;  // hash of the files that say what is right and what is compared with
  double target = 0;
  std::string target_shape;  // empty: the mean of all shapes
  int most_iterations = 0;
  double minutes = 0;
  double confirmation_alpha = 0;
  Choice start;
  std::optional<Standing> first{};   // at the start
  std::optional<Standing> latest{};  // before the end
  std::optional<Standing> winner{};  // at the end, of what had won
  std::vector<Iteration> iterations;
  nlohmann::json diagnosis{};       // of the incumbent; null: none yet
  std::vector<std::string> warned;  // shares of the budget that were warned of: "time 0.5"
  std::string ended{};              // why iterations ended; empty while they go on

  const Iteration* last_kept() const;
  std::string incumbent_commit() const;
  Choice incumbent() const;
  double speedup() const;         // of the incumbent, over the baseline
  double towards_target() const;  // the same where the target counts
  bool measured() const;          // against the baseline itself, rather than step by step
  std::vector<ShapeNow> shapes(const std::vector<Shape>& all) const;
  int done() const;  // iterations with an outcome
};

// " at <shape>", or "" where the target is one for the mean.
std::string where_the_target_counts(const LoopState& state);

LoopState state_of(std::span<const Record> records);

nlohmann::json to_json(const Choice& choice);
Choice choice_of(const nlohmann::json& record);

}  // namespace dent

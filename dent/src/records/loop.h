// SPDX-License-Identifier: MIT
// Records of an optimisation loop, in addition to those of its steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operators/problem.h"
#include "records/choice.h"
#include "records/outcome.h"
#include "records/proposal.h"

namespace dent {

enum class LoopEnding { target_reached, iterations, budget_spent, no_ideas };
inline constexpr Word<LoopEnding> kLoopEndingWords[] = {{LoopEnding::target_reached, "target reached"},
                                                        {LoopEnding::iterations, "iterations"},
                                                        {LoopEnding::budget_spent, "budget spent"},
                                                        {LoopEnding::no_ideas, "no ideas"}};
constexpr std::span<const Word<LoopEnding>> words(LoopEnding) { return kLoopEndingWords; }

enum class StandingOf { start, incumbent, winner };
inline constexpr Word<StandingOf> kStandingOfWords[] = {
    {StandingOf::start, "start"}, {StandingOf::incumbent, "incumbent"}, {StandingOf::winner, "winner"}};
constexpr std::span<const Word<StandingOf>> words(StandingOf) { return kStandingOfWords; }

enum class BudgetPart { time, device_time, iterations, money };
inline constexpr Word<BudgetPart> kBudgetPartWords[] = {{BudgetPart::time, "time"},
                                                        {BudgetPart::device_time, "device time"},
                                                        {BudgetPart::iterations, "iterations"},
                                                        {BudgetPart::money, "money"}};
constexpr std::span<const Word<BudgetPart>> words(BudgetPart) { return kBudgetPartWords; }

// Result of trying a pattern.
enum class Tried {
  kept,
  dropped,
  failed
};  // dropped: measured, but not faster enough; failed: refused, broken or wrong
inline constexpr Word<Tried> kTriedWords[] = {
    {Tried::kept, "kept"}, {Tried::dropped, "dropped"}, {Tried::failed, "failed"}};
constexpr std::span<const Word<Tried>> words(Tried) { return kTriedWords; }

void fields(Fields& f, Shape& shape);

}  // namespace dent

namespace dent::record {

struct Loop {
  static constexpr std::string_view kKind = "loop";
  std::string base, branch, harness, target_shape;
  bool private_repository = false;
  int iterations = 0;
  double confirmation_alpha = 0;
  std::optional<double> target{}, minutes{};
  Choice choice;
  std::string executor{};  // empty: this process measures
  int parallel = 0;        // candidates measured at a time; 0: one
  bool operator==(const Loop&) const = default;
};

struct Iteration {
  static constexpr std::string_view kKind = "iteration";
  int iteration = 0;
  Proposal proposal;  // written as fields of this record, not as an object of its own
  Choice choice;
  std::string parent, patch;
  bool again = false;  // tried again because the incumbent that it beat has since been replaced
  bool operator==(const Iteration&) const = default;
};

struct Outcome {
  static constexpr std::string_view kKind = "outcome";
  int iteration = 0;
  dent::Outcome outcome;  // written as fields of this record, not as an object of its own
  std::string commit{};
  double overhead_s = 0;
  bool operator==(const Outcome&) const = default;
};

struct Standing {
  static constexpr std::string_view kKind = "standing";
  StandingOf of = StandingOf::start;
  std::string step;
  Ratio ratio;
  std::vector<ShapeGain> shapes;
  bool operator==(const Standing&) const = default;
};

struct LoopEnd {
  static constexpr std::string_view kKind = "loop_end";
  LoopEnding ending = LoopEnding::no_ideas;
  std::string reason;
  std::vector<Shape> held_out;
  bool operator==(const LoopEnd&) const = default;
};

struct BudgetMark {
  static constexpr std::string_view kKind = "budget";
  BudgetPart part = BudgetPart::time;
  double mark = 0, share = 0;
  bool operator==(const BudgetMark&) const = default;
};

struct PatternTried {
  static constexpr std::string_view kKind = "pattern";
  std::string pattern, bottleneck;
  Tried outcome = Tried::failed;
  std::optional<double> gain{};
  bool operator==(const PatternTried&) const = default;
};

void fields(Fields& f, Loop& loop);
void fields(Fields& f, Iteration& iteration);
void fields(Fields& f, Outcome& outcome);
void fields(Fields& f, Standing& standing);
void fields(Fields& f, LoopEnd& end);
void fields(Fields& f, BudgetMark& mark);
void fields(Fields& f, PatternTried& tried);

}  // namespace dent::record

// SPDX-License-Identifier: MIT
// The measurements of a loop, in parts: the start, the incumbent's bottleneck, a candidate against the
// incumbent, the incumbent against the baseline, the validation of the winner. Each part can run on any
// machine with the kernels' files; its results are in the session's records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluation/judge.h"
#include "session/session.h"

namespace dent {

enum class PartKind { start, diagnosis, evaluation, standing, validation };
inline constexpr Word<PartKind> kPartKindWords[] = {{PartKind::start, "start"},
                                                    {PartKind::diagnosis, "diagnosis"},
                                                    {PartKind::evaluation, "evaluation"},
                                                    {PartKind::standing, "standing"},
                                                    {PartKind::validation, "validation"}};
constexpr std::span<const Word<PartKind>> words(PartKind) { return kPartKindWords; }

// A kernel of the loop, described by the difference of its files from the loop's start.
struct PartKernel {
  std::string name{};                  // unique in the session, for its builds
  Choice choice{};                     // variant and tunables
  std::string changes{};               // folder of changed files; "": none
  std::vector<std::string> removed{};  // files that it lacks
  bool operator==(const PartKernel&) const = default;
};

struct LoopPart {
  PartKind kind = PartKind::start;
  std::string name{};  // steps are called `name`/...; those of the start have no prefix
  PartKernel candidate{};
  std::optional<PartKernel> opponent{};  // for an evaluation the incumbent, for a validation the start
  std::string baseline{};                // that the session has chosen; "" for the start, which chooses it
  EvaluationRules rules{};               // for an evaluation
  std::int64_t shape = 0;                // for a diagnosis
  std::vector<Shape> held_out{};         // for a validation
  bool rebaseline = false;               // for the start
};
void fields(Fields& f, PartKernel& kernel);
void fields(Fields& f, LoopPart& part);

struct PartKernels {
  Kernel candidate;
  std::optional<Kernel> opponent{};
};

// Performs the part, continuing after the session's last record. `against_baseline` contains the candidate.
void perform(const LoopPart& part, const PartKernels& kernels, Session& session, Sides& against_baseline);

}  // namespace dent

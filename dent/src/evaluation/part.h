// SPDX-License-Identifier: MIT
// What a loop measures, in pieces: where it starts, what holds the incumbent back, one candidate against the
// incumbent, where the incumbent stands, whether the winner holds. Each can be done wherever the kernels'
// files are; what comes of it is in the session's records.
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

// A kernel of the loop's, as its tree differs from the one that the loop began with.
struct PartKernel {
  std::string name{};                  // of its own in the whole session, for its builds
  Choice choice{};                     // variant and tunables
  std::string changes{};               // folder of the files that differ; "": none does
  std::vector<std::string> removed{};  // files that it does not have
  bool operator==(const PartKernel&) const = default;
};

struct LoopPart {
  PartKind kind = PartKind::start;
  std::string name{};  // its steps are called `name`/...; those of the start have no prefix
  PartKernel candidate{};
  std::optional<PartKernel> opponent{};  // of an evaluation the incumbent, of a validation the start
  std::string baseline{};                // that the session has chosen; "" at the start, which chooses it
  EvaluationRules rules{};               // of an evaluation
  std::int64_t shape = 0;                // of a diagnosis
  std::vector<Shape> held_out{};         // of a validation
  bool rebaseline = false;               // at the start
};
void fields(Fields& f, PartKernel& kernel);
void fields(Fields& f, LoopPart& part);

struct PartKernels {
  Kernel candidate;
  std::optional<Kernel> opponent{};
};

// Does it, from where the session's records end. `against_baseline` has the candidate as its own.
void perform(const LoopPart& part, const PartKernels& kernels, Session& session, Sides& against_baseline);

}  // namespace dent

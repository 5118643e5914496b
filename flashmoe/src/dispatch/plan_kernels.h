// SPDX-License-Identifier: MIT
// How each forward kernel would compute a problem, and why it can't: dispatch/plan.h chooses between them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <string>

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

inline constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();  // of a grid

[[noreturn]] void refuse_forward(const std::string& what, const std::string& remedy = {},
                                 std::source_location where = std::source_location::current());

// What happens to its pairs that plain kernels do not know; null when nothing does.
const char* needs_change(const ForwardProblem& p);
// Why the kernels that know causal masks alone can't take it; null when they can.
const char* needs_runs(const ForwardProblem& p);

// Why ampere_forward takes it in its general form, if at all; null when one of its others does.
const char* needs_general(const ForwardProblem& p);
// The same of naive, whose plain form takes spans and any scale.
const char* needs_general_naive(const ForwardProblem& p);

// Why a kernel can't take it; null when it can.
const char* too_much_for_ampere(const ForwardProblem& p, bool aligned);
const char* too_much_for_small(const ForwardProblem& p, bool aligned, const device::Spec& spec);
const char* too_much_for_decode(const ForwardProblem& p, bool aligned);

ForwardPlan plan_naive(const ForwardProblem& p, const device::Spec& spec, const char* reason);
ForwardPlan plan_ampere(const ForwardProblem& p, bool aligned, const device::Spec& spec,
                        std::optional<int> splits, const char* reason);
ForwardPlan plan_ampere_lengths(const ForwardProblem& p, const char* reason);
ForwardPlan plan_hopper(const ForwardProblem& p, const device::Spec& spec, const ForwardChoice& choice,
                        const char* reason);
ForwardPlan plan_small(const ForwardProblem& p, const device::Spec& spec, const char* reason);
ForwardPlan plan_decode(const ForwardProblem& p, const device::Spec& spec, const ForwardChoice& choice,
                        const char* reason);

}  // namespace flashmoe::dispatch

// SPDX-License-Identifier: MIT
// Decides whether a small difference is due to the kernels or to memory placement.
//
// The placement of its code, stack and pages makes a process faster or slower for its whole life: a call of
// 200 ns by some per cent, even between two copies of one program; a GPU's call of 600 us by three per cent,
// and by 14 if it waits for its host in between. So before such a difference becomes a verdict, both sides
// are started again a few times, and the interval is taken over the starts. If it stays open, more starts
// follow: there are three looks, fixed in advance, each with a third of alpha (see measure/stop_rule.h).
#pragma once

#include <array>
#include <optional>
#include <span>

#include "gates/context.h"
#include "gates/result.h"
#include "operators/fill.h"
#include "records/comparison.h"

namespace dent {

inline constexpr std::array kLooksAtStarts{6, 12, 18};  // including the first start

// Whether placement may explain the difference. Applies to GPUs, and to native CPU kernels with short calls,
// in sessions with one start. (A loop does its own starts; starting Python functions on a CPU takes seconds,
// and their calls seldom differ that much.)
bool may_be_where_they_lie(const record::Comparison& comparison, const protocol::Loaded& candidate,
                           const protocol::Loaded& opponent);

// Starts both sides again until a look decides, and puts the result over all starts into the comparison.
// Returns a result if a new process of the candidate was caught cheating; outputs of each start are checked.
std::optional<GateResult> judge_over_starts(GateContext& at, record::Comparison& comparison, Random& random);

// How far other programs can have changed these samples; the comparison holds the disturbance.
Doubt taken_of(const record::Comparison& comparison, const Sampling& sampling);

// Concludes at one look from the logarithm of each start's ratio, including the first.
void conclude_over_starts(record::Comparison& comparison, std::span<const double> log_ratios);

}  // namespace dent

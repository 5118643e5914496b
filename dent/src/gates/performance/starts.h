// SPDX-License-Identifier: MIT
// Whether a small difference is one of the kernels, or one of where two processes happen to lie.
//
// Where its code, its stack and its pages lie makes a process faster or slower for as long as it lives: some
// per cent of a call of 200 ns, of two copies of one program too; three of a GPU's call of 600 us, and 14 of
// one that waits for its host in between. So before such a difference becomes a verdict both sides are
// started afresh a few times, and the interval is over the starts. Where they leave it open there are more:
// at three looks, fixed beforehand, each with a third of alpha, as measure/stop_rule.h has it for pairs.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "gates/context.h"
#include "gates/result.h"
#include "operators/fill.h"
#include "records/comparison.h"

namespace dent {

inline constexpr std::array kLooksAtStarts{6, 12, 18};  // the first start included

// Of a GPU, and of native CPU kernels with short calls, where the session itself is the only start. (A loop
// has starts of its own, and those of Python functions on a CPU take seconds for calls that seldom differ
// so.)
bool may_be_where_they_lie(const record::Comparison& comparison, const protocol::Loaded& candidate,
                           const protocol::Loaded& opponent);

// Starts both sides again until a look decides, and puts what all starts say into the comparison. What a
// fresh process of the candidate was caught at is the answer; its outputs are checked as those of the first
// are.
std::optional<GateResult> judge_over_starts(GateContext& at, record::Comparison& comparison, Random& random);

// What other programs could have taken of these samples; the comparison has the disturbance.
Doubt taken_of(const record::Comparison& comparison, const Sampling& sampling);

// At one look: from the logarithms of each start's ratio, the first one's included.
void conclude_over_starts(record::Comparison& comparison, std::span<const double> log_ratios);

}  // namespace dent

// SPDX-License-Identifier: MIT
// What a kernel did besides computing, as a gate's result.
#pragma once

#include <optional>
#include <string>

#include "gates/result.h"
#include "operators/problem.h"
#include "workers/worker.h"

namespace dent {

// What keep() noticed besides the values; nothing when all is well.
std::optional<GateResult> misbehaviour(const protocol::Kept& kept, const std::string& step,
                                       const Problem& problem);
// Whether the candidate has started a process that would go on while others are timed; it is killed. Throws
// KernelFailed when it has reached for processes that are not its own.
std::optional<GateResult> left_behind(Worker& candidate, const std::string& step, const Problem& problem);

}  // namespace dent

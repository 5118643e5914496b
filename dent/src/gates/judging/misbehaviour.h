// SPDX-License-Identifier: MIT
// Turns what a kernel did besides computing into a gate's result.
#pragma once

#include <optional>
#include <string>

#include "gates/result.h"
#include "operators/problem.h"
#include "workers/worker.h"

namespace dent {

// The result for what keep() observed besides the values; nothing if all is well.
std::optional<GateResult> misbehaviour(const protocol::Kept& kept, const std::string& step,
                                       const Problem& problem);
// Kills a process that the candidate started and that would run while others are timed; returns a result if
// there was one. Throws KernelFailed if the candidate acted on other processes.
std::optional<GateResult> left_behind(Worker& candidate, const std::string& step, const Problem& problem);

}  // namespace dent

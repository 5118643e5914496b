// SPDX-License-Identifier: MIT
// Runs the gate of a step. A worker that dies, hangs or cheats comes out as a failed gate here and nowhere
// else.
#pragma once

#include "session/step.h"

namespace dent {

struct Performed {
  GateResult result;
  double seconds = 0;
  double own_s = 0;  // of them, waiting neither for the user's compiler nor for a kernel
  std::uint64_t seed = 0;
};

Performed run_step(const Step& step, Sides& sides, const SessionFacts& facts, const SessionStore& store,
                   const Progress& progress);

}  // namespace dent

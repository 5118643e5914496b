// SPDX-License-Identifier: MIT
// Measures a kernel's standing: every shape against the baseline.
#pragma once

#include <optional>
#include <string>

#include "session/session.h"

namespace dent {

// Runs steps `prefix`/<shape>, and records a standing of `whose`. Returns the failure that ended it; nothing
// if all shapes were measured.
std::optional<Failed> measure_standing(Session& session, Sides& against_baseline, StandingOf whose,
                                       const std::string& prefix);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Where a kernel stands: every shape against the baseline.
#pragma once

#include <optional>
#include <string>

#include "session/session.h"

namespace dent {

// As steps `prefix`/<shape>, and on record as a standing of `whose`. The failure that ended it; nothing when
// all is measured.
std::optional<Failed> measure_standing(Session& session, Sides& against_baseline, StandingOf whose,
                                       const std::string& prefix);

}  // namespace dent

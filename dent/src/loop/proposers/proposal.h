// SPDX-License-Identifier: MIT
// Whether a proposal can be tried, and what it makes of the incumbent's choice.
#pragma once

#include <string>

#include "project/project.h"
#include "records/proposal.h"

namespace dent {

// Why it is not one change, or names what is not there; "" when it can be tried. Patches are looked at when
// they are applied.
std::string what_is_wrong(const Proposal& proposal, const Project& project, const Choice& incumbent);

// The choice that the proposal makes of the incumbent's.
Choice applied(const Proposal& proposal, const Choice& incumbent);

}  // namespace dent

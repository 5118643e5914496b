// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "loop/proposers/proposer.h"

namespace dent {

// The proposers that the manifest names, or all that have something to work with. Throws Error when there is
// none: a loop needs tunables, variants or a command.
std::unique_ptr<Proposer> standard_proposer(const Project& project);

}  // namespace dent

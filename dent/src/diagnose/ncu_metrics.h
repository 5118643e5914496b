// SPDX-License-Identifier: MIT
// The few counters that answer the tree's questions, and how its quantities are made of them.
#pragma once

#include <string>
#include <vector>

#include "diagnose/ncu_report.h"

namespace dent {

// Names for `ncu --metrics`. `arch`: compute capability; some exist on Hopper alone.
std::vector<std::string> ncu_metrics(int arch);

// Requested ones that did not come back, or came back without a number.
std::vector<std::string> absent_metrics(const ProfiledLaunch& launch, int arch);

// The tree's quantities of one launch.
Quantities quantities_of(const ProfiledLaunch& launch);

// Which resource keeps more CTAs from an SM: "registers", "shared memory", "threads", "CTAs", "barriers"; ""
// when unknown.
std::string occupancy_limiter(const ProfiledLaunch& launch);

}  // namespace dent

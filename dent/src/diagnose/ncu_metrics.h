// SPDX-License-Identifier: MIT
// The counters that the decision tree needs, and the quantities computed from them.
#pragma once

#include <string>
#include <vector>

#include "diagnose/ncu_report.h"

namespace dent {

// Names for `ncu --metrics`. `arch` is the compute capability; some counters exist only on Hopper.
std::vector<std::string> ncu_metrics(int arch);

// Requested counters that were not returned, or returned without a number.
std::vector<std::string> absent_metrics(const ProfiledLaunch& launch, int arch);

// The tree's quantities for one launch.
Quantities quantities_of(const ProfiledLaunch& launch);

// The resource that limits the number of CTAs per SM: "registers", "shared memory", "threads", "CTAs",
// "barriers"; "" if unknown.
std::string occupancy_limiter(const ProfiledLaunch& launch);

}  // namespace dent

// SPDX-License-Identifier: MIT
// How many cores this process may keep busy.
#pragma once

#include <string>

namespace flashmoe::cpu {

// The cores of the process's affinity mask, or those that its control groups pay for where that is less (a
// container with a quota of two cores is stopped for most of the time when sixteen threads spend it). Asked
// once, at least 1.
int usable_cores();

// Threads for a call that asks for `wanted`; 0 asks for all.
int threads_for(int wanted);

// Cores' worth of time that control groups grant: the least quota along the path of each group in `groups`,
// which is the text of /proc/self/cgroup, below `root`. Infinite where none is set.
double quota_of_groups(const std::string& groups, const std::string& root);

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// Text of reports: source locations, settings, and which thread waits for what.
#pragma once

#include <string>

#include "primitives/model/machine.h"
#include "primitives/model/settings.h"

namespace flashmoe::model {

std::string describe(const Where& where);
std::string describe(const Settings& settings);
std::string deadlock_table(const Cluster& cluster);

}  // namespace flashmoe::model

// SPDX-License-Identifier: MIT
#pragma once

#include "operators/problem.h"
#include "project/strict_table.h"

namespace dent {

// The table [operator]: a kind that dent knows (attention.forward), or a description of any other.
Operator read_operator(StrictTable& table);

}  // namespace dent

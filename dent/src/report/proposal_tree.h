// SPDX-License-Identifier: MIT
// A loop's changes as a tree: kept changes form the trunk, dropped ones branch off the kept change that they
// were tried on. Each shows its hypothesis, outcome and diff.
#pragma once

#include <string>

#include "report/climb.h"

namespace dent {

std::string proposal_tree(const ClimbView& climb);  // HTML; "" without steps
std::string diff_markup(std::string_view diff);     // HTML; classes mark added and removed lines

}  // namespace dent

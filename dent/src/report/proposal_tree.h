// SPDX-License-Identifier: MIT
// What a loop tried, as a tree: the kept changes are its trunk, and what was tried on each of them and
// dropped hangs there. Each with its hypothesis, its outcome and its diff.
#pragma once

#include <string>

#include "report/climb.h"

namespace dent {

std::string proposal_tree(const ClimbView& climb);  // markup; empty without a step
std::string diff_markup(std::string_view diff);     // with classes for added, removed and headings

}  // namespace dent

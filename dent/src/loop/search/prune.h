// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "loop/state/brief.h"

namespace dent {

// Why a choice can't run or can't win, foreseen from the manifest's [kernel.launch] with no compiler and no
// GPU: a block that does not fit, or a launch whose floor on some shape is above what the incumbent takes. ""
// when it may.
std::string foreseen_failure(const Brief& brief, const Choice& choice);

}  // namespace dent

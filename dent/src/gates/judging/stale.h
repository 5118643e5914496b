// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "gates/context.h"

namespace dent {

// A failed build where what would be measured is not what the user sees.
std::optional<GateResult> stale_build(const GateContext& at);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "gates/context.h"

namespace dent {

// A failed build if sources have changed since the library was built.
std::optional<GateResult> stale_build(const GateContext& at);

}  // namespace dent

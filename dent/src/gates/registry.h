// SPDX-License-Identifier: MIT
// All gates, in the order in which a session runs them. A new gate needs a folder with its class, a
// declaration here and an entry in registry.cpp: dent/docs/guides/add-a-gate.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gates/gate.h"

namespace dent {

const Gate& preflight_gate();
const Gate& build_gate();
const Gate& baseline_gate();
const Gate& correctness_gate();
const Gate& sanitize_gate();
const Gate& performance_gate();
const Gate& profile_gate();

std::span<const Gate* const> gates();

// Throws Error (invalid) for an unknown name.
const Gate& gate_named(std::string_view name);

// The gate after all gates that it needs, in order.
std::vector<const Gate*> with_needs(const Gate& gate);

// The table of gates in dent/docs/dent.md.
std::string gates_as_markdown();

}  // namespace dent

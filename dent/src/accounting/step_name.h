// SPDX-License-Identifier: MIT
// Parses names of steps: "correctness/tiny", "003/screening/tiny", "winner/003/held-out/gain/odd". Names of
// shapes are chosen by the user and come last.
#pragma once

#include <optional>
#include <string_view>

namespace dent {

// The iteration whose trial the step is: 3 for "003/screening/tiny".
std::optional<int> iteration_of(std::string_view step);

bool compiles(std::string_view step);
bool runs_kernels(std::string_view step);

}  // namespace dent

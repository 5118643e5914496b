// SPDX-License-Identifier: MIT
// What the name of a step says: "correctness/tiny", "003/screening/tiny", "winner/003/held-out/gain/odd".
// Names of shapes are the user's, and stand last.
#pragma once

#include <optional>
#include <string_view>

namespace dent {

// The iteration of which it is a trial: 3 of "003/screening/tiny".
std::optional<int> iteration_of(std::string_view step);

bool compiles(std::string_view step);
bool runs_kernels(std::string_view step);

}  // namespace dent

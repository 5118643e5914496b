// SPDX-License-Identifier: MIT
// "Did you mean ...?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

// The candidate that is fewest edits away, or nothing when none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dent

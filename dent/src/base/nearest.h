// SPDX-License-Identifier: MIT
// "Did you mean ...?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

// "did you mean \"tiny\"?", or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The candidate that is fewest edits away, or nothing when none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Spelling suggestions for error messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

// "did you mean \"tiny\"?", or "" if no candidate is similar.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The candidate with the smallest edit distance, or nothing if none is similar.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dent

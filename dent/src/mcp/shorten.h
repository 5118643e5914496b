// SPDX-License-Identifier: MIT
// An answer for a reader who pays by the word: long lists and texts are cut, and the answer says where.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dent::mcp {

inline constexpr std::size_t kMostItems = 12;
inline constexpr std::size_t kMostCharacters = 800;

// Cuts lists and texts in `answer`; "left_out" then says how much of what: {"sessions": 31}.
void shorten(nlohmann::json& answer);

}  // namespace dent::mcp

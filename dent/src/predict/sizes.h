// SPDX-License-Identifier: MIT
// Parses shapes on a command line: "1,8,128,64", and ranges that double: "1,8,128..4096,64".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

using Sizes = std::array<std::int64_t, 4>;  // B, H, S, D

// All shapes that the text describes, the last number changing fastest. Throws Error if it is invalid.
std::vector<Sizes> read_sizes(std::string_view text);

// Product of "3", "3,2" or "3,2,1". Throws Error if the text is invalid.
std::int64_t read_grid(std::string_view text, std::string_view option);

}  // namespace dent

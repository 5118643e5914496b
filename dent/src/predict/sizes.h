// SPDX-License-Identifier: MIT
// Shapes as people write them on a command line: "1,8,128,64", and ranges that double: "1,8,128..4096,64".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

using Sizes = std::array<std::int64_t, 4>;  // B, H, S, D

// Every shape that the text stands for, the last number changing fastest. Throws Error.
std::vector<Sizes> read_sizes(std::string_view text);

// "3", "3,2" or "3,2,1": the product. Throws Error.
std::int64_t read_grid(std::string_view text, std::string_view option);

}  // namespace dent

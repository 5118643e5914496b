// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dent {

std::string sha256(std::string_view bytes);                     // 64 hexadecimal digits
std::string sha256_of_file(const std::filesystem::path& file);  // "" if it can't be read

}  // namespace dent

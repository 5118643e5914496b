// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dent {

// What a short command prints, stdout and stderr together; nothing when it can't be run, fails or takes too
// long.
std::optional<std::string> capture(const std::vector<std::string>& argv, double seconds,
                                   const std::filesystem::path& directory = {});

}  // namespace dent

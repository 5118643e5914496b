// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dent {

// Runs a short command and returns its stdout and stderr together; nothing if it can't be started, fails or
// takes longer than `seconds`.
std::optional<std::string> capture(const std::vector<std::string>& argv, double seconds,
                                   const std::filesystem::path& directory = {});

}  // namespace dent

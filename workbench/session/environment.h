// SPDX-License-Identifier: MIT
// What machine this is, as far as a number measured on it depends on it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace dent {

// The data of an "environment" record, see docs/dent-records.md. Reads /proc and /sys and asks git and
// nvidia-smi, each for two seconds at most; leaves out what it can't find. `project`: whose git state to
// record.
nlohmann::json environment_snapshot(const std::filesystem::path& project);

}  // namespace dent

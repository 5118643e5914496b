// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace dent {

// An "environment" record as lines of a table: ("cpu model", "..."), ("gpu 0 name", "..."), in the record's
// order.
std::vector<std::pair<std::string, std::string>> environment_rows(const nlohmann::json& environment);

}  // namespace dent

// SPDX-License-Identifier: MIT
// JSON from text. In one file, since the templates that read it would take a second of every other one's
// compilation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dent {

nlohmann::json parse_json(std::string_view text);  // is_discarded() where that is no JSON
nlohmann::json require_json(
    std::string_view text);  // throws nlohmann::json::parse_error, which names the place

}  // namespace dent

// SPDX-License-Identifier: MIT
// JSON from text. In one file, since the templates that read it would take a second of every other one's
// compilation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dent {

// Where the text is no JSON, the first returns a value that is_discarded(); the second throws
// nlohmann::json::parse_error, which names the place.
nlohmann::json parse_json(std::string_view text);
nlohmann::json require_json(std::string_view text);

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "records/json_text.h"

#include <nlohmann/json.hpp>

namespace dent {

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }
nlohmann::json require_json(std::string_view text) { return nlohmann::json::parse(text); }

}  // namespace dent

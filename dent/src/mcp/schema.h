// SPDX-License-Identifier: MIT
// As much of JSON Schema as the tools' arguments need: type, properties, required, additionalProperties =
// false, enum, items, minimum.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dent::mcp {

// What is wrong with `value`, naming where and what is accepted; "" when nothing is.
std::string breach(const nlohmann::json& value, const nlohmann::json& schema,
                   const std::string& where = "arguments");

}  // namespace dent::mcp

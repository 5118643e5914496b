// SPDX-License-Identifier: MIT
#include "mcp/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dent::mcp {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

std::string breach_of_object(const json& value, const json& schema, const std::string& where) {
  const json properties = schema.value("properties", json::object());
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>()))
      return where + "." + name.get<std::string>() + " is missing";
  }
  for (const auto& [name, member] : value.items()) {
    const auto property = properties.find(name);
    if (property != properties.end()) {
      std::string inside = breach(member, *property, where + "." + name);
      if (!inside.empty()) return inside;
    } else if (schema.value("additionalProperties", json(true)) == false) {
      std::string known;
      for (const auto& [key, ignored] : properties.items()) known += (known.empty() ? "" : ", ") + key;
      return where + "." + name + ": no such argument; there are " + known;
    }
  }
  return {};
}

}  // namespace

std::string breach(const json& value, const json& schema, const std::string& where) {
  const auto type = schema.find("type");
  if (type != schema.end() && !has_type(value, *type)) {
    return where + " is " + value.dump() + "; it must be of type " + type->get<std::string>();
  }
  if (const auto choices = schema.find("enum"); choices != schema.end()) {
    if (std::find(choices->begin(), choices->end(), value) == choices->end()) {
      return where + " is " + value.dump() + "; accepted are " + choices->dump();
    }
  }
  if (const auto least = schema.find("minimum"); least != schema.end() && value < *least) {
    return where + " is " + value.dump() + "; it must be at least " + least->dump();
  }
  if (value.is_object()) return breach_of_object(value, schema, where);
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string inside = breach(value[i], schema["items"], where + "[" + std::to_string(i) + "]");
      if (!inside.empty()) return inside;
    }
  }
  return {};
}

}  // namespace dent::mcp

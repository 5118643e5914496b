// SPDX-License-Identifier: MIT
#include "mcp/shorten.h"

#include <nlohmann/json.hpp>
#include <string>

namespace dent::mcp {
namespace {

using nlohmann::json;

// Not within a character of several bytes.
std::string beginning(const std::string& text) {
  std::size_t end = kMostCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " ...";
}

void cut(json& value, const std::string& where, json& left_out) {
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMostCharacters) {
    left_out[where] = value.get_ref<const std::string&>().size() - kMostCharacters;
    value = beginning(value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    if (value.size() > kMostItems) {
      left_out[where] = value.size() - kMostItems;
      value.erase(value.begin() + kMostItems, value.end());
    }
    for (std::size_t i = 0; i < value.size(); ++i)
      cut(value[i], where + "[" + std::to_string(i) + "]", left_out);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.items()) cut(member, where.empty() ? key : where + "." + key, left_out);
  }
}

}  // namespace

void shorten(json& answer) {
  json left_out = json::object();
  cut(answer, "", left_out);
  if (!left_out.empty()) answer["left_out"] = std::move(left_out);
}

}  // namespace dent::mcp

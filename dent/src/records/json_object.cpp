// SPDX-License-Identifier: MIT
#include "records/json_object.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace dent {

JsonValue::JsonValue(double value) : text_(std::isfinite(value) ? fmt::format("{}", value) : "null") {}
JsonValue::JsonValue(const JsonObject& object) : text_(object.text()) {}
JsonValue::JsonValue(const JsonList& list) : text_(list.text()) {}

JsonValue JsonValue::object_in(std::string_view text) {
  JsonValue value;
  value.text_ = ParsedJson(text).is_object() ? trimmed(text) : "{}";
  return value;
}

JsonObject::JsonObject(std::initializer_list<std::pair<std::string_view, JsonValue>> members) {
  for (const auto& [key, value] : members) add(key, value);
}

JsonObject& JsonObject::add(std::string_view key, const JsonValue& value) {
  if (value.none()) return *this;
  if (!members_.empty()) members_ += ',';
  members_ += json_string(key) + ":" + value.text();
  return *this;
}

JsonObject& JsonObject::add(const JsonObject& members) {
  if (!members_.empty() && !members.members_.empty()) members_ += ',';
  members_ += members.members_;
  return *this;
}

JsonList& JsonList::add(const JsonValue& item) {
  if (item.none()) return *this;
  if (!items_.empty()) items_ += ',';
  items_ += item.text();
  return *this;
}

}  // namespace dent

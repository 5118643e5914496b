// SPDX-License-Identifier: MIT
// A JSON document built from parts, such as a command's answer. A document that is one struct has fields()
// instead.
//
//   JsonObject document{{"session", view.id}, {"ratio", view.mean()}, {"comparisons", view.comparisons}};
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/json.h"

namespace dent {

template <class T>
concept HasFields = requires(Fields& f, T& value) {
  fields(f, value);
};

class JsonObject;
class JsonList;

// A value that is already JSON text. An empty std::optional makes no value, and an object leaves it out.
class JsonValue {
 public:
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}
  JsonValue(std::string_view text) : text_(json_string(text)) {}
  JsonValue(bool value) : text_(value ? "true" : "false") {}
  JsonValue(double value);  // null for NaN and infinity
  template <std::integral T>
  JsonValue(T value) : text_(std::to_string(value)) {}
  template <HasFields T>
  JsonValue(const T& record) : text_(to_json_text(record)) {}
  JsonValue(const JsonObject& object);
  JsonValue(const JsonList& list);
  template <class T>
  JsonValue(const std::vector<T>& items);
  template <class T, class Less>
  JsonValue(const std::map<std::string, T, Less>& members);
  template <class T>
  JsonValue(const std::optional<T>& value) : text_(value ? JsonValue(*value).text_ : std::string()) {}

  // The object in `text`, unchanged; {} if there is none.
  static JsonValue object_in(std::string_view text);

  const std::string& text() const { return text_; }
  bool none() const { return text_.empty(); }

 private:
  JsonValue() = default;

  std::string text_;
};

// An object whose members stay in the order in which they are added.
class JsonObject {
 public:
  JsonObject() = default;
  JsonObject(std::initializer_list<std::pair<std::string_view, JsonValue>> members);
  template <HasFields T>
  explicit JsonObject(const T& record) {
    const std::string text = to_json_text(record);
    members_ = text.substr(1, text.size() - 2);
  }

  JsonObject& add(std::string_view key, const JsonValue& value);
  JsonObject& add(const JsonObject& members);  // after the existing members
  template <class T>
  JsonObject& may(std::string_view key, const T& value) {  // left out if empty, zero or false
    return value == T{} ? *this : add(key, value);
  }

  bool empty() const { return members_.empty(); }
  bool operator==(const JsonObject&) const = default;
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

class JsonList {
 public:
  JsonList() = default;

  JsonList& add(const JsonValue& item);
  std::string text() const { return "[" + items_ + "]"; }

 private:
  std::string items_;
};

template <class T>
JsonValue::JsonValue(const std::vector<T>& items) {
  JsonList list;
  for (const T& item : items) list.add(item);
  text_ = list.text();
}

template <class T, class Less>
JsonValue::JsonValue(const std::map<std::string, T, Less>& members) {
  JsonObject object;
  for (const auto& [key, value] : members) object.add(key, value);
  text_ = object.text();
}

}  // namespace dent

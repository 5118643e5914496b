// SPDX-License-Identifier: MIT
// Records as JSON, and back. Only json.cpp knows how a field is written.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "records/fields.h"

namespace dent {

using Pass = std::function<void(Fields&)>;

// Writes one object on one line, its fields in the order of `fields`. Throws Error, naming the field, for NaN
// or infinity, which JSON can't hold. Bytes that are not UTF-8 become U+FFFD.
std::string write_json(const Pass& pass);
std::string json_string(std::string_view text);  // including the quotes

// JSON on several lines, for people; each level is indented by `spaces`.
std::string indented(std::string_view json, int spaces = 1);

// Throws Error, naming the field, if one is missing or has another type. Unknown fields are ignored.
void read_json(std::string_view text, const Pass& pass);
void read_json(const nlohmann::json& object, const Pass& pass);

template <class T>
std::string to_json_text(const T& value) {
  return write_json([&value](Fields& f) { fields(f, const_cast<T&>(value)); });  // writing changes nothing
}
template <class T>
T from_json_text(std::string_view text) {
  T value{};
  read_json(text, [&value](Fields& f) { fields(f, value); });
  return value;
}

// Whether two JSON objects have equal members, except those named; false if one is no JSON object.
bool same_json(std::string_view a, std::string_view b, std::initializer_list<const char*> but_for);

// JSON that is parsed once and read several times.
class ParsedJson {
 public:
  explicit ParsedJson(std::string_view text);
  ~ParsedJson();
  ParsedJson(const ParsedJson&) = delete;
  ParsedJson& operator=(const ParsedJson&) = delete;

  bool is_object() const;
  void read(const Pass& pass) const;  // throws Error also if it is no JSON object

 private:
  std::unique_ptr<const nlohmann::json> value_;
};

// JSON from untrusted sources is read with limits on depth and length. The first function returns a value
// that is_discarded() if the text is invalid or exceeds them; the second throws Error naming the position.
inline constexpr int kDeepestJson = 64;
inline constexpr std::size_t kLongestJson = std::size_t{16} << 20;
nlohmann::json parse_json(std::string_view text);
nlohmann::json require_json(std::string_view text);

}  // namespace dent

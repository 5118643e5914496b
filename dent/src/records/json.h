// SPDX-License-Identifier: MIT
// Records as JSON, and back. The one reader and writer: json.cpp is the only file that knows how a field is
// written.
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

// One object on one line, its fields in the order of `fields`. NaN and infinity have no place in JSON: throws
// Error naming where one stands. What is not UTF-8 becomes U+FFFD.
std::string write_json(const Pass& pass);
std::string json_string(std::string_view text);  // with its quotes

// JSON on many lines, for people: what is inside stands `spaces` further in.
std::string indented(std::string_view json, int spaces = 1);

// Throws Error naming the field that is missing or of another type. Fields that nobody asks for are passed
// over.
void read_json(std::string_view text, const Pass& pass);
void read_json(const nlohmann::json& object, const Pass& pass);

template <class T>
std::string to_json_text(const T& value) {
  return write_json([&value](Fields& f) { fields(f, const_cast<T&>(value)); });  // a writer changes nothing
}
template <class T>
T from_json_text(std::string_view text) {
  T value{};
  read_json(text, [&value](Fields& f) { fields(f, value); });
  return value;
}

// The same values, but for members of these names? False where one is no JSON object.
bool same_json(std::string_view a, std::string_view b, std::initializer_list<const char*> but_for);

// What is read more than once is parsed once.
class ParsedJson {
 public:
  explicit ParsedJson(std::string_view text);
  ~ParsedJson();
  ParsedJson(const ParsedJson&) = delete;
  ParsedJson& operator=(const ParsedJson&) = delete;

  bool is_object() const;
  void read(const Pass& pass) const;  // throws Error, also where it is no JSON object

 private:
  std::unique_ptr<const nlohmann::json> value_;
};

// Text that strangers wrote is read with limits: what is nested deeper, or longer, is no JSON for us. The
// first returns a value that is_discarded(); the second throws Error naming the place.
inline constexpr int kDeepestJson = 64;
inline constexpr std::size_t kLongestJson = std::size_t{16} << 20;
nlohmann::json parse_json(std::string_view text);
nlohmann::json require_json(std::string_view text);

}  // namespace dent

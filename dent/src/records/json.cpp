// SPDX-License-Identifier: MIT
#include "records/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"

namespace dent {
namespace {

using nlohmann::json;

std::string number_text(double value) {
  return std::isnan(value)   ? "nan"
         : std::isinf(value) ? (value > 0 ? "inf" : "-inf")
                             : fmt::format("{}", value);
}

class Writer : public Fields {
 public:
  std::string take() { return std::move(out_); }

 private:
  void text(const Field& field, std::string& value) override { put(field, json_string(value)); }
  void number(const Field& field, double& value) override {
    if (!std::isfinite(value)) {
      throw Error(ErrorCode::internal,
                  fmt::format("record field {} is {}, which JSON can't hold", place(field), value),
                  "leave the field out if there is no number");
    }
    put(field, fmt::format("{}", value));
  }
  void any_number(const Field& field, double& value) override {
    put(field, std::isfinite(value) ? number_text(value) : json_string(number_text(value)));
  }
  void whole(const Field& field, std::int64_t& value) override { put(field, std::to_string(value)); }
  void flag(const Field& field, bool& value) override { put(field, value ? "true" : "false"); }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t& chosen) override {
    put(field, json_string(words[chosen]));
  }
  void quantity(const Field& field, Reading& reading) override {
    if (reading.presence == Presence::value) {
      number(field, reading.value);
      return;
    }
    std::string text = "{\"absent\":" + json_string(name(reading.presence));
    if (!reading.why.empty()) text += ",\"why\":" + json_string(reading.why);
    put(field, text + "}");
  }
  bool has(const Field&, bool there) override { return there; }
  std::size_t enter(const Field& field, Structure structure, std::size_t size) override {
    put(field, structure == Structure::list ? "[" : "{");
    closing_.push_back(structure == Structure::list ? ']' : '}');
    names_.push_back(std::string(field.name));
    first_ = true;
    return size;
  }
  void leave() override {
    out_ += closing_.back();
    closing_.pop_back();
    names_.pop_back();
    first_ = false;
  }
  std::string key(std::size_t) override { return {}; }
  bool keeps() const override { return true; }

  void put(const Field& field, const std::string& value) {
    if (!first_) out_ += ',';
    first_ = false;
    if (!field.name.empty()) out_ += json_string(field.name) + ":";
    out_ += value;
  }
  std::string place(const Field& field) const {
    return names_.empty() ? std::string(field.name)
                          : fmt::format("{}.{}", fmt::join(names_, "."), field.name);
  }

  std::string out_;
  bool first_ = true;
  std::vector<char> closing_;
  std::vector<std::string> names_;
};

class Reader : public Fields {
 public:
  explicit Reader(const json& object) { open_.push_back({&object, 0, ""}); }

 private:
  struct Open {
    const json* value;
    std::size_t next;  // item of a list
    std::string name;
  };

  void text(const Field& field, std::string& value) override {
    value = take(field, &json::is_string, "a text").get<std::string>();
  }
  void number(const Field& field, double& value) override {
    value = take(field, &json::is_number, "a number").get<double>();
  }
  void any_number(const Field& field, double& value) override {
    const json& found = at(field);
    if (found.is_number()) {
      value = found.get<double>();
    } else if (found == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (found == "inf" || found == "-inf") {
      value = (found == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
    } else {
      wrong(field, "a number, nan, inf or -inf");
    }
  }
  void whole(const Field& field, std::int64_t& value) override {
    const json& found = take(field, &json::is_number, "a whole number");
    if (found.is_number_integer()) {
      value = found.get<std::int64_t>();
      return;
    }
    const auto number = found.get<double>();
    if (number != std::floor(number) || std::abs(number) > 0x1p53) wrong(field, "a whole number");
    value = static_cast<std::int64_t>(number);
  }
  void flag(const Field& field, bool& value) override {
    value = take(field, &json::is_boolean, "true or false").get<bool>();
  }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t& chosen) override {
    const auto text = take(field, &json::is_string, "a text").get<std::string>();
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) {
      throw Error(ErrorCode::invalid, fmt::format("field {} is \"{}\"; known are {}", place(field), text,
                                                  fmt::join(words, ", ")));
    }
    chosen = static_cast<std::size_t>(found - words.begin());
  }
  void quantity(const Field& field, Reading& reading) override {
    const json& found = at(field);
    if (found.is_number()) {
      reading = {Presence::value, found.get<double>(), {}};
      return;
    }
    if (!found.is_object()) wrong(field, "a number or {absent, why}");
    const auto absent = parse_word<Presence>(found.value("absent", "missing"));
    reading = {absent.value_or(Presence::missing), 0, found.value("why", "")};
  }

  bool has(const Field& field, bool) override {
    const json& object = *open_.back().value;
    return !field.name.empty() ? object.contains(std::string(field.name)) : true;
  }
  std::size_t enter(const Field& field, Structure structure, std::size_t) override {
    const json& value = structure == Structure::list ? take(field, &json::is_array, "a list")
                                                     : take(field, &json::is_object, "an object");
    open_.push_back({&value, 0, std::string(field.name)});
    return value.size();
  }
  void leave() override { open_.pop_back(); }
  std::string key(std::size_t i) override {
    return std::next(open_.back().value->begin(), static_cast<std::ptrdiff_t>(i)).key();
  }
  bool keeps() const override { return false; }

  const json& at(const Field& field) {
    Open& top = open_.back();
    if (field.name.empty()) return (*top.value)[top.next++];
    const auto found = top.value->find(std::string(field.name));
    if (found == top.value->end())
      throw Error(ErrorCode::invalid, fmt::format("field {} is missing", place(field)));
    return *found;
  }
  const json& take(const Field& field, bool (json::*is)() const noexcept, const char* what) {
    const json& found = at(field);
    if (!(found.*is)()) wrong(field, what);
    return found;
  }
  [[noreturn]] void wrong(const Field& field, const char* what) {
    throw Error(ErrorCode::invalid, fmt::format("field {} is not {}", place(field), what));
  }
  std::string place(const Field& field) const {
    std::string text;
    for (const Open& open : open_) {
      if (!open.name.empty()) text += open.name + ".";
    }
    return text + (field.name.empty() ? "item" : std::string(field.name));
  }

  std::vector<Open> open_;
};

// Why a JSON text exceeds the limits of our readers, or "".
std::string beyond_limits(std::string_view text) {
  if (text.size() > kLongestJson) return fmt::format("longer than {} MiB", kLongestJson >> 20);
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepestJson) return fmt::format("nested more than {} deep", kDeepestJson);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return {};
}

}  // namespace

std::string json_string(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string indented(std::string_view json, int spaces) {
  std::string out;
  std::size_t depth = 0;
  const auto new_line = [&] { out += '\n' + std::string(depth * static_cast<std::size_t>(spaces), ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      std::size_t end = i + 1;
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      out += json.substr(i, end + 1 - i);
      i = end;
    } else if (c == '{' || c == '[') {
      out += c;
      const std::size_t next = json.find_first_not_of(" \t\r\n", i + 1);
      if (next != std::string_view::npos && (json[next] == '}' || json[next] == ']')) {
        out += json[next];
        i = next;
        continue;
      }
      ++depth;
      new_line();
    } else if (c == '}' || c == ']') {
      --depth;
      new_line();
      out += c;
    } else if (c == ',') {
      out += c;
      new_line();
    } else if (c == ':') {
      out += ": ";
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      out += c;
    }
  }
  return out;
}

bool same_json(std::string_view a, std::string_view b, std::initializer_list<const char*> but_for) {
  json left = parse_json(a), right = parse_json(b);
  if (!left.is_object() || !right.is_object()) return false;
  for (const char* key : but_for) {
    left.erase(key);
    right.erase(key);
  }
  return left == right;
}

ParsedJson::ParsedJson(std::string_view text) : value_(std::make_unique<const json>(parse_json(text))) {}
ParsedJson::~ParsedJson() = default;
bool ParsedJson::is_object() const { return value_->is_object(); }
void ParsedJson::read(const Pass& pass) const { read_json(*value_, pass); }

std::string write_json(const Pass& pass) {
  Writer writer;
  pass(writer);
  return "{" + writer.take() + "}";
}

void read_json(std::string_view text, const Pass& pass) { read_json(require_json(text), pass); }

void read_json(const json& object, const Pass& pass) {
  if (!object.is_object()) throw Error(ErrorCode::invalid, "not a JSON object");
  Reader reader(object);
  pass(reader);
}

json parse_json(std::string_view text) {
  return beyond_limits(text).empty() ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
}

json require_json(std::string_view text) {
  if (const std::string beyond = beyond_limits(text); !beyond.empty())
    throw Error(ErrorCode::invalid, "JSON that is " + beyond);
  try {
    return json::parse(text);
  } catch (const json::exception& problem) {
    throw Error(ErrorCode::invalid, fmt::format("not JSON: {}", problem.what()));
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Visits the fields of a record. Each struct that dent writes has one function that names its fields:
//
//   void fields(Fields& f, Note& note) { f("text", note.text, "for people"); }
//
// Subclasses of Fields write, read, describe or compare the fields. So names are in one place only, and
// nothing here depends on JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/words.h"
#include "measure/interval.h"
#include "records/quantities.h"

namespace dent {

struct Field {
  std::string_view name;   // "" for an item of a list
  std::string_view about;  // meaning, for dent/docs/dent-records.md and JSON Schema
  bool required = true;
};

// A number that may be NaN or infinite. JSON has no such numbers, so they are written as text.
struct AnyNumber {
  double value = 0;
  bool operator==(const AnyNumber& other) const {
    return value == other.value || (std::isnan(value) && std::isnan(other.value));
  }
};

class Fields {
 public:
  virtual ~Fields() = default;

  // A field that is always present; an empty std::optional is left out.
  template <class T>
  void operator()(std::string_view name, T& value, std::string_view about) {
    visit({name, about, true}, value);
  }

  // A field that is left out if its value is empty, zero or false.
  template <class T>
  void may(std::string_view name, T& value, std::string_view about) {
    const Field field{name, about, false};
    if (has(field, value != T{})) visit(field, value);
  }

  // A field that is left out if its value is `usual`.
  template <class T>
  void unless(const T& usual, std::string_view name, T& value, std::string_view about) {
    std::optional<T> unusual;
    if (value != usual) unusual = value;
    (*this)(name, unusual, about);
    if (!keeps()) value = unusual.value_or(usual);
  }

 protected:
  enum class Structure { object, list, map };

  virtual void text(const Field&, std::string&) = 0;
  virtual void number(const Field&, double&) = 0;
  virtual void any_number(const Field&, double&) = 0;
  virtual void whole(const Field&, std::int64_t&) = 0;
  virtual void flag(const Field&, bool&) = 0;
  virtual void word(const Field&, std::span<const std::string_view> words, std::size_t& chosen) = 0;
  virtual void quantity(const Field&, Reading&) = 0;

  // Whether to visit an optional field; `there` tells whether the given value has it.
  virtual bool has(const Field&, bool there) = 0;
  // Begins an object, list or map. For lists and maps: returns how many items to visit; `size` is the given
  // value's.
  virtual std::size_t enter(const Field&, Structure, std::size_t size) = 0;
  virtual void leave() = 0;
  // For subclasses that fill in values: the key of the current map's i-th item.
  virtual std::string key(std::size_t i) = 0;
  // True for subclasses that don't change the value: they visit what it holds.
  virtual bool keeps() const = 0;

 private:
  template <class T>
  void visit(const Field& field, T& value);
  template <class T>
  void visit(const Field& field, std::optional<T>& value);
  template <class T>
  void visit(const Field& field, std::vector<T>& value);
  template <class T, class Less>
  void visit(const Field& field, std::map<std::string, T, Less>& value);
  void visit(const Field& field, std::string& value) { text(field, value); }
  void visit(const Field& field, double& value) { number(field, value); }
  void visit(const Field& field, bool& value) { flag(field, value); }
  void visit(const Field& field, AnyNumber& value) { any_number(field, value.value); }
  void visit(const Field& field, Reading& value) { quantity(field, value); }
  void visit(const Field& field, Quantities& value) { visit(field, value.all()); }
};

void fields(Fields& f, Estimate& ratio);

template <class T>
void Fields::visit(const Field& field, T& value) {
  if constexpr (std::is_integral_v<T>) {
    auto wide = static_cast<std::int64_t>(value);
    whole(field, wide);
    value = static_cast<T>(wide);
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<std::string_view> all;
    std::size_t chosen = 0;
    for (const Word<T>& entry : words(value)) {
      if (entry.value == value) chosen = all.size();
      all.push_back(entry.word);
    }
    word(field, all, chosen);
    value = words(value)[chosen].value;
  } else {
    enter(field, Structure::object, 1);
    fields(*this, value);
    leave();
  }
}

template <class T>
void Fields::visit(const Field& field, std::optional<T>& value) {
  if (!has({field.name, field.about, false}, value.has_value())) {
    if (!keeps()) value.reset();
    return;
  }
  if (!value) value.emplace();
  visit(Field{field.name, field.about, false}, *value);
}

template <class T>
void Fields::visit(const Field& field, std::vector<T>& value) {
  const std::size_t items = enter(field, Structure::list, value.size());
  if (!keeps()) value.assign(items, T{});
  for (T& item : value) visit(Field{"", field.about, true}, item);
  leave();
}

template <class T, class Less>
void Fields::visit(const Field& field, std::map<std::string, T, Less>& value) {
  const std::size_t items = enter(field, Structure::map, value.size());
  if (!keeps()) {
    value.clear();
    for (std::size_t i = 0; i < items; ++i) value[key(i)];
  }
  for (auto& [name, item] : value) visit(Field{name, field.about, true}, item);
  leave();
}

}  // namespace dent

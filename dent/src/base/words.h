// SPDX-License-Identifier: MIT
// Enums whose values have names in text. Next to each enum stand a table of the names and a function `words`
// that returns it:
//
//   enum class Side { left, right };
//   inline constexpr Word<Side> kSideWords[] = {{Side::left, "left"}, {Side::right, "right"}};
//   constexpr std::span<const Word<Side>> words(Side) { return kSideWords; }
//
// Code uses the enum; people and JSON see the name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace dent {

template <class Enum>
struct Word {
  Enum value;
  std::string_view word;
};

template <class Enum>
concept HasWords = requires(Enum e) {
  { words(e) } -> std::convertible_to<std::span<const Word<Enum>>>;
};

template <HasWords Enum>
constexpr std::string_view name(Enum value) {
  for (const Word<Enum>& entry : words(value)) {
    if (entry.value == value) return entry.word;
  }
  return {};
}

// The value with that name; nothing if there is none.
template <HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view word) {
  for (const Word<Enum>& entry : words(Enum{})) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

}  // namespace dent

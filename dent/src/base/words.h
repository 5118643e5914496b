// SPDX-License-Identifier: MIT
// Enums that are written as words. Beside an enum stands the list of its words, and a function `words` that
// finds it:
//
//   enum class Side { left, right };
//   inline constexpr Word<Side> kSideWords[] = {{Side::left, "left"}, {Side::right, "right"}};
//   constexpr std::span<const Word<Side>> words(Side) { return kSideWords; }
//
// Code asks the enum; people and JSON get the word.
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

// Nothing where no value has that word.
template <HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view word) {
  for (const Word<Enum>& entry : words(Enum{})) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

}  // namespace dent

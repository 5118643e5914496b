// SPDX-License-Identifier: MIT
#include "executors/shell_words.h"

#include <algorithm>

namespace dent {

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

std::string quoted_if_needed(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  };
  const bool all_plain = !word.empty() && std::ranges::all_of(word, plain);
  return all_plain ? std::string(word) : dent::quoted(word);
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + dent::quoted(word);
  return text;
}

}  // namespace dent

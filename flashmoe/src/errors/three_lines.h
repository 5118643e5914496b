// SPDX-License-Identifier: MIT
// How an error reads, in the library and in the workbench: what happened, where, what to do about it.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>

namespace flashmoe {

// `roots`: folders of the repository, as "/flashmoe/src/"; the place is named from the first of them on,
// since compilers record whatever path the build was started with. `remedy` may be empty.
inline std::string three_lines(const std::string& what, const std::string& remedy,
                               const std::source_location& where,
                               std::initializer_list<std::string_view> roots) {
  std::string_view file = where.file_name();
  for (const std::string_view root : roots) {
    if (const auto at = file.rfind(root); at != std::string_view::npos) {
      file.remove_prefix(at + 1);
      break;
    }
  }
  std::string text = what;
  text += "\n   at: ";
  text += file;
  text += ":" + std::to_string(where.line()) + " (" + where.function_name() + ")";
  if (!remedy.empty()) text += "\n  try: " + remedy;
  return text;
}

}  // namespace flashmoe

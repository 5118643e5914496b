// SPDX-License-Identifier: MIT
#include "error.h"

#include <string_view>

namespace dent {
namespace {

// The path as the repository knows it: compilers record whatever path the build was started with.
std::string_view in_repository(std::string_view path) {
  const auto at = path.rfind("/workbench/");
  return at == std::string_view::npos ? path : path.substr(at + 1);
}

std::string three_lines(const std::string& what, const std::string& remedy,
                        const std::source_location& where) {
  std::string text = what;
  text += "\n   at: ";
  text += in_repository(where.file_name());
  text += ":" + std::to_string(where.line()) + " (" + where.function_name() + ")";
  if (!remedy.empty()) text += "\n  try: " + remedy;
  return text;
}

}  // namespace

Error::Error(ErrorCode code, const std::string& what_happened, const std::string& remedy,
             std::source_location where)
    : std::runtime_error(three_lines(what_happened, remedy, where)), code_(code) {}

}  // namespace dent

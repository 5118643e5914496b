// SPDX-License-Identifier: MIT
#include "build/declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace dent {
namespace {

constexpr std::string_view kGlobal = "__global__";
constexpr std::string_view kExternC = "extern \"C\"";

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "const float* x" -> {"const float*", "x"}: the name is the last identifier, including namespaces.
Parameter split(const std::string& text) {
  std::size_t start = text.size();
  while (start > 0 && (in_word(text[start - 1]) || text[start - 1] == ':')) --start;
  return {trimmed(text.substr(0, start)), text.substr(start)};
}

// Position of the bracket that matches the one at `close`; npos if there is none.
std::size_t opening(const std::string& text, std::size_t close, char open_bracket, char close_bracket) {
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (text[at] == close_bracket) ++depth;
    if (text[at] == open_bracket && --depth == 0) return at;
  }
  return std::string::npos;
}

[[noreturn]] void refuse(const std::string& entry, const std::string& why, const std::string& remedy) {
  throw Error(ErrorCode::invalid, fmt::format("entry \"{}\" {}", entry, why), remedy);
}

constexpr const char* kExample = "for example: void softmax(const float* x, float* y, int rows)";

std::vector<Parameter> parameters_in(const std::string& list, const std::string& entry) {
  std::vector<Parameter> parameters;
  if (trimmed(list).empty() || trimmed(list) == "void") return parameters;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string text = trimmed(list.substr(at, comma - at));
    const std::size_t bracket = text.find('[');  // float x[] means float* x
    if (bracket != std::string::npos) text = trimmed(text.substr(0, bracket));
    Parameter parameter = split(text);
    if (parameter.name.empty() || parameter.type.empty()) {
      refuse(entry, fmt::format("has no name for parameter {}, \"{}\"", parameters.size() + 1, text),
             "dent finds tensors and sizes by the names of the parameters; " + std::string(kExample));
    }
    if (bracket != std::string::npos) parameter.type += "*";
    parameters.push_back(std::move(parameter));
    at = comma + 1;
  }
  return parameters;
}

}  // namespace

std::string Declaration::last_name() const {
  const auto colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

bool is_declaration(const std::string& entry) { return entry.find('(') != std::string::npos; }

Declaration parse_declaration(const std::string& entry) {
  Declaration result;
  result.text = trimmed(entry, " \t\r\n;");
  if (result.text.starts_with(kExternC)) {
    result.c_linkage = true;
    result.text = trimmed(result.text.substr(kExternC.size()));
  }
  if (result.text.starts_with("template")) {
    refuse(entry, "is a template", "give its arguments instead: void name<64, 8>(const float* x, ...)");
  }
  if (result.text.empty() || result.text.back() != ')')
    refuse(entry, "does not end with a parameter list", kExample);
  const std::size_t open = opening(result.text, result.text.size() - 1, '(', ')');
  if (open == std::string::npos) refuse(entry, "has a ) without a (", kExample);
  std::string head = trimmed(result.text.substr(0, open));
  if (!head.empty() && head.back() == '>') {
    const std::size_t angle = opening(head, head.size() - 1, '<', '>');
    if (angle == std::string::npos) refuse(entry, "has a > without a <", kExample);
    result.arguments = head.substr(angle);
    head = trimmed(head.substr(0, angle));
  }
  Parameter named = split(head);
  if (named.name.empty() || named.type.empty()) refuse(entry, "is not a function declaration", kExample);
  result.type = std::move(named.type);
  result.name = std::move(named.name);
  result.parameters = parameters_in(result.text.substr(open + 1, result.text.size() - open - 2), entry);
  return result;
}

bool mentions(const std::string& source, const std::string& name) {
  for (auto at = source.find(name); at != std::string::npos; at = source.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !in_word(source[at - 1])) && (end == source.size() || !in_word(source[end]))) return true;
  }
  return false;
}

bool is_kernel_in(const std::string& source, const std::string& name) {
  for (auto at = source.find(kGlobal); at != std::string::npos; at = source.find(kGlobal, at + 1)) {
    auto open = source.find('(', at);
    if (source.substr(at, open - at).find("__launch_bounds__") != std::string::npos) {
      open = source.find('(', source.find(')', open));
    }
    if (open != std::string::npos && split(trimmed(source.substr(at, open - at))).name == name) return true;
  }
  return false;
}

bool is_static_in(const std::string& source, const std::string& name) {
  for (auto at = source.find("static "); at != std::string::npos; at = source.find("static ", at + 1)) {
    const std::string head = source.substr(at, source.find_first_of("(;{}", at) - at);
    if (split(trimmed(head)).name == name) return true;
  }
  return false;
}

}  // namespace dent

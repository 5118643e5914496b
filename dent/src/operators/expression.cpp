// SPDX-License-Identifier: MIT
#include "operators/expression.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace dent {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A recursive descent parser: sum -> product -> factor.
class Parser {
 public:
  Parser(std::string_view text, const Numbers& numbers) : text_(text), numbers_(numbers) {}

  double whole() {
    const double value = sum();
    if (skip() != '\0') fail(std::string("unexpected '") + text_[at_] + "'");
    return value;
  }

 private:
  char skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (skip() != c) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(
        ErrorCode::invalid,
        "expression \"" + std::string(text_) + "\", character " + std::to_string(at_ + 1) + ": " + why,
        "operators are + - * / %, functions min max ceil floor log2 sqrt");
  }

  double sum() {
    double value = product();
    for (;;) {
      if (take('+'))
        value += product();
      else if (take('-'))
        value -= product();
      else
        return value;
    }
  }

  double product() {
    double value = factor();
    for (;;) {
      if (take('*'))
        value *= factor();
      else if (take('/'))
        value /= factor();
      else if (take('%'))
        value = std::fmod(value, factor());
      else
        return value;
    }
  }

  double factor() {
    if (take('-')) return -factor();
    if (take('(')) {
      const double value = sum();
      if (!take(')')) fail("a ) is missing");
      return value;
    }
    const char c = skip();
    if (starts_name(c)) return name_or_function();
    double value = 0;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem != std::errc()) fail("a number or a name is missing");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  double name_or_function() {
    const std::size_t start = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (take('(')) {
      const double first = sum();
      if (word == "min" || word == "max") {
        if (!take(',')) fail(std::string(word) + " takes two arguments");
        const double second = sum();
        if (!take(')')) fail("a ) is missing");
        return word == "min" ? std::fmin(first, second) : std::fmax(first, second);
      }
      if (!take(')')) fail("a ) is missing");
      if (word == "ceil") return std::ceil(first);
      if (word == "floor") return std::floor(first);
      if (word == "log2") return std::log2(first);
      if (word == "sqrt") return std::sqrt(first);
      at_ = start;
      fail("unknown function " + std::string(word));
    }
    const auto number = numbers_.find(word);
    if (number != numbers_.end()) return number->second;
    at_ = start;
    std::string known;
    for (const auto& [name, value] : numbers_) known += (known.empty() ? "" : ", ") + name;
    fail("unknown name " + std::string(word) + "; this problem has " + (known.empty() ? "no names" : known));
  }

  std::string_view text_;
  const Numbers& numbers_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate(std::string_view text, const Numbers& numbers) { return Parser(text, numbers).whole(); }

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    if (!in_name(text[at])) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && (in_name(text[at]) || text[at] == '.')) ++at;
    const bool function = at < text.size() && text[at] == '(';
    if (starts_name(text[start]) && !function) names.emplace_back(text.substr(start, at - start));
  }
  return names;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "diagnose/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "operators/expression.h"

namespace dent {
namespace {

bool holds(const std::string& comparison, double left, double right) {
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  if (comparison == "==") return left == right;
  return left != right;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

Condition::Condition(std::string_view text) : text_(trimmed(text)) {
  const auto at = text_.find_first_of("<>=!");
  const auto length = at != std::string::npos && at + 1 < text_.size() && text_[at + 1] == '=' ? 2U : 1U;
  if (at != std::string::npos) {
    left_ = trimmed(std::string_view(text_).substr(0, at));
    comparison_ = text_.substr(at, length);
    right_ = trimmed(std::string_view(text_).substr(at + length));
  }
  if (left_.empty() || right_.empty() || comparison_ == "=" || comparison_ == "!") {
    throw Error(ErrorCode::invalid, "\"" + text_ + "\" is not a condition",
                "write it like \"ctas < 4 * sms\"; comparisons are < <= > >= == !=");
  }
  for (const std::string& side : {left_, right_}) {
    for (std::string& found : names_in(side)) names_.push_back(std::move(found));
  }
  Numbers ones;  // Evaluates once with every quantity at 1, so that an invalid expression is reported now.
  for (const std::string& used : names_) ones[used] = 1;
  evaluate(left_, ones);
  evaluate(right_, ones);
}

Condition::Answer Condition::ask(const Quantities& quantities) const {
  Numbers numbers;
  Answer answer;
  for (const std::string& used : names_) {
    const Reading reading = quantities.at(used);
    if (reading.presence == Presence::value) {
      numbers[used] = reading.value;
      continue;
    }
    answer.absent = used;
    if (reading.presence == Presence::not_applicable) {
      answer.kind = Answer::Kind::not_applicable;
      return answer;  // even if other quantities are missing
    }
  }
  if (!answer.absent.empty()) return answer;
  answer.left = evaluate(left_, numbers);
  answer.right = evaluate(right_, numbers);
  if (std::isfinite(answer.left) && std::isfinite(answer.right)) {
    answer.kind = holds(comparison_, answer.left, answer.right) ? Answer::Kind::yes : Answer::Kind::no;
  }
  return answer;
}

double Condition::distance(const Answer& answer) {
  const double larger = std::max(std::abs(answer.left), std::abs(answer.right));
  return larger > 0 ? std::abs(answer.left - answer.right) / larger : 0;
}

std::string Condition::readings(const Quantities& quantities) const {
  std::string text;
  for (const std::string& used : names_) {
    const Reading reading = quantities.at(used);
    text += text.empty() ? "" : ", ";
    text += reading.presence == Presence::value ? fmt::format("{} {:.4g}", used, reading.value)
                                                : fmt::format("{} {}", used, name(reading.presence));
  }
  return text;
}

std::string Condition::in_numbers(const Quantities& quantities) const {
  const Answer answer = ask(quantities);
  const auto side = [](const std::string& text, double value) {
    return is_number(text) ? text : fmt::format("{} {:.4g}", text, value);
  };
  switch (answer.kind) {
    case Answer::Kind::yes:
    case Answer::Kind::no:
      return fmt::format("{} {} {}", side(left_, answer.left), comparison_, side(right_, answer.right));
    case Answer::Kind::unknown:
    case Answer::Kind::not_applicable:
      break;
  }
  return fmt::format("{} ({} is {})", text_, answer.absent, name(quantities.at(answer.absent).presence));
}

}  // namespace dent

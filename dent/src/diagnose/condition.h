// SPDX-License-Identifier: MIT
// A comparison of quantities, as written in trees and patterns: "ctas < 4 * sms", "dram >= 60".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "records/quantities.h"

namespace dent {

class Condition {
 public:
  // Two expressions (operators/expression.h) joined by one of < <= > >= == !=. Throws Error if it is invalid.
  explicit Condition(std::string_view text);

  struct Answer {
    enum class Kind { yes, no, unknown, not_applicable } kind = Kind::unknown;
    double left = 0, right = 0;
    std::string absent{};  // the quantity whose absence prevents an answer
    bool yes() const { return kind == Kind::yes; }
  };
  Answer ask(const Quantities& quantities) const;

  // How far the left side is from changing the answer, as a share of the larger side: 0 at the threshold, 1
  // far from it.
  static double distance(const Answer& answer);

  const std::string& text() const { return text_; }
  const std::string& left() const { return left_; }
  const std::string& right() const { return right_; }
  const std::string& comparison() const { return comparison_; }
  const std::vector<std::string>& names() const { return names_; }

  // The condition with its numbers: "ctas 2 < sms 132".
  std::string in_numbers(const Quantities& quantities) const;
  // Only the numbers, "ctas 160, sms 132", for a condition that does not hold or should not.
  std::string readings(const Quantities& quantities) const;

 private:
  std::string text_, left_, comparison_, right_;
  std::vector<std::string> names_;
};

}  // namespace dent

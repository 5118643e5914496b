// SPDX-License-Identifier: MIT
// A comparison over quantities, as trees and patterns write it: "ctas < 4 * sms", "dram >= 60".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "records/quantities.h"

namespace dent {

class Condition {
 public:
  // Both sides are expressions of operators/expression.h; between them one of < <= > >= == !=. Throws Error.
  explicit Condition(std::string_view text);

  struct Answer {
    enum class Kind { yes, no, unknown, not_applicable } kind = Kind::unknown;
    double left = 0, right = 0;
    std::string absent{};  // the quantity that kept it from being answered
    bool yes() const { return kind == Kind::yes; }
  };
  Answer ask(const Quantities& quantities) const;

  // How far the left side is from changing the answer, as a share of the larger side: 0 at the threshold, 1
  // far away.
  static double distance(const Answer& answer);

  const std::string& text() const { return text_; }
  const std::string& left() const { return left_; }
  const std::string& right() const { return right_; }
  const std::string& comparison() const { return comparison_; }
  const std::vector<std::string>& names() const { return names_; }

  // "ctas 2 < sms 132", with numbers.
  std::string in_numbers(const Quantities& quantities) const;
  // "ctas 160, sms 132": the numbers alone, for a condition that does not hold or is not to.
  std::string readings(const Quantities& quantities) const;

 private:
  std::string text_, left_, comparison_, right_;
  std::vector<std::string> names_;
};

}  // namespace dent

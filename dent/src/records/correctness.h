// SPDX-License-Identifier: MIT
// Result of the correctness check of one shape.
#pragma once

#include <optional>
#include <string>

#include "records/fields.h"
#include "records/verdict.h"

namespace dent::record {

struct FirstBad {
  std::string index;  // "out[0, 3, 17]"
  AnyNumber got, expected;
  bool operator==(const FirstBad&) const = default;
};

struct Correctness {
  static constexpr std::string_view kKind = "correctness";
  std::string shape;
  bool held_out = false;  // no proposer has seen this shape
  int seeds = 0;
  std::int64_t elements = 0, bad = 0, unchecked = 0, unwritten = 0;
  double max_error = 0, mean_error = 0, bound = 0, share_of_bound = 0;
  std::optional<double> max_relative_error{};  // absent in older ledgers
  StepVerdict verdict = StepVerdict::pass;
  std::optional<FirstBad> first_bad{};
  // Error of the element that comes nearest to its bound, which may differ from the element with the largest
  // error.
  double worst_error() const { return bound > 0 ? share_of_bound * bound : max_error; }
  bool operator==(const Correctness&) const = default;
};

void fields(Fields& f, FirstBad& bad);
void fields(Fields& f, Correctness& correctness);

}  // namespace dent::record

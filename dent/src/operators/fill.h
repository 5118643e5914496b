// SPDX-License-Identifier: MIT
// Input values: random from a seed, constant, or made by the project.
#pragma once

#include <cstdint>
#include <string>

#include "operators/dtype.h"

namespace dent {

struct Fill {
  enum class Kind { normal, uniform, integers, constant, python };  // python: by the operator's inputs_from
  Kind kind = Kind::normal;
  double low = 0;   // normal: mean; constant: the value, may be infinite; otherwise the smallest value
  double high = 1;  // normal: standard deviation; otherwise the largest value (inclusive for integers)
};

// Fills the memory, except for kind python, which leaves it unchanged.
void fill(const Fill& how, DType dtype, void* memory, std::size_t elements, std::uint64_t seed);

// 64 random bits from the operating system, which a candidate can't guess.
std::uint64_t secret_seed();

// A small generator for order, offsets and spot checks, not for input data.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // 0 .. bound - 1
  double unit();                             // [0, 1)

 private:
  std::uint64_t state_[4];
};

}  // namespace dent

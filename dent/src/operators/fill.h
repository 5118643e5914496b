// SPDX-License-Identifier: MIT
// Input data: random from a seed, one value throughout, or made by the project.
#pragma once

#include <cstdint>
#include <string>

#include "operators/dtype.h"

namespace dent {

struct Fill {
  enum class Kind { normal, uniform, integers, constant, python };  // python: by the operator's inputs_from
  Kind kind = Kind::normal;
  double low = 0;   // normal: the mean; constant: the value, which may be infinite; else the smallest value
  double high = 1;  // normal: the standard deviation; else the largest value, included for integers
};

// Of every kind but python, which leaves the memory as it is.
void fill(const Fill& how, DType dtype, void* memory, std::size_t elements, std::uint64_t seed);

// 64 bits from the operating system: nobody who has not seen them can guess them.
std::uint64_t secret_seed();

// A small generator for draws that are no input data: order, offsets, spot checks.
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

// SPDX-License-Identifier: MIT
// Element types that tensors of a kernel may have, and their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dent {

// Values are those of dent/kernel.h.
enum class DType : std::int32_t {
  fp64 = 0,
  fp32 = 1,
  fp16 = 2,
  bf16 = 3,
  int32 = 4,
  int64 = 5,
  int8 = 6,
  uint8 = 7,
  boolean = 8,   // a byte, 0 or 1
  fp8_e4m3 = 9,  // without infinities, as in OCP's FP8 and PyTorch's float8_e4m3fn
  fp8_e5m2 = 10
};

std::string_view name(DType dtype);
DType parse_dtype(std::string_view text);  // throws Error with the accepted names
std::size_t bytes_of(DType dtype);
bool is_floating(DType dtype);
struct Range {
  double least, most;
};
Range range_of(DType dtype);  // of an integer type, as far as a double can tell

std::string dtype_names();  // all that are accepted: "fp64, fp32, ..."

// Element `index` of memory that holds `dtype`, and the other way with one rounding to nearest even.
double load(DType dtype, const void* memory, std::size_t index);
void store(DType dtype, void* memory, std::size_t index, double value);

// What outputs are filled with before a kernel runs: a NaN of a payload that no arithmetic gives; for signed
// integers the smallest number there is; of the other bytes one that is no bool. poisoned() knows it again.
void poison(DType dtype, void* memory, std::size_t elements);
bool poisoned(DType dtype, const void* memory, std::size_t index);

}  // namespace dent

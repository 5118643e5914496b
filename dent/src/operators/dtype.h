// SPDX-License-Identifier: MIT
// Element types of a kernel's tensors, and their encodings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dent {

// The values are those of dent/kernel.h.
enum class DType : std::int32_t {
  fp64 = 0,
  fp32 = 1,
  fp16 = 2,
  bf16 = 3,
  int32 = 4,
  int64 = 5,
  int8 = 6,
  uint8 = 7,
  boolean = 8,   // one byte, 0 or 1
  fp8_e4m3 = 9,  // without infinities, like OCP's FP8 and PyTorch's float8_e4m3fn
  fp8_e5m2 = 10
};

std::string_view name(DType dtype);
DType parse_dtype(std::string_view text);  // throws Error listing the accepted names
std::size_t bytes_of(DType dtype);
bool is_floating(DType dtype);
struct Range {
  double least, most;
};
Range range_of(DType dtype);  // of an integer type, as exactly as a double allows

std::string dtype_names();  // all accepted names: "fp64, fp32, ..."

// Reads element `index` of memory of type `dtype`; store() rounds once, to nearest even.
double load(DType dtype, const void* memory, std::size_t index);
void store(DType dtype, void* memory, std::size_t index, double value);

// Fills outputs before a kernel runs: with a NaN whose payload no arithmetic produces, with the smallest
// signed integer, or with a byte that is no bool. poisoned() recognises these values.
void poison(DType dtype, void* memory, std::size_t elements);
bool poisoned(DType dtype, const void* memory, std::size_t index);

}  // namespace dent

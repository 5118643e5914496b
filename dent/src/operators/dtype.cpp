// SPDX-License-Identifier: MIT
#include "operators/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "numeric/half.h"

namespace dent {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  std::uint64_t poison;  // as bits
};
// NaN payloads are 0xDE 0x47 if they fit.
constexpr std::array kTypes{
    Entry{DType::fp64, "fp64", 8, 0x7FF800000000DE47U},
    Entry{DType::fp32, "fp32", 4, 0x7FC0DE47U},
    Entry{DType::fp16, "fp16", 2, 0x7EDEU},
    Entry{DType::bf16, "bf16", 2, 0x7FDEU},
    Entry{DType::int32, "int32", 4, 0x80000000U},
    Entry{DType::int64, "int64", 8, 0x8000000000000000U},
    Entry{DType::int8, "int8", 1, 0x80U},
    Entry{DType::uint8, "uint8", 1, 0xDEU},
    Entry{DType::boolean, "bool", 1, 0xDEU},
    Entry{DType::fp8_e4m3, "fp8_e4m3", 1, 0xFFU},
    Entry{DType::fp8_e5m2, "fp8_e5m2", 1, 0xFDU},
};

const Entry& entry(DType dtype) { return kTypes.at(static_cast<std::size_t>(dtype)); }

template <class T>
T read(const void* memory, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(memory) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void write(void* memory, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(memory) + index * sizeof(T), &value, sizeof(T));
}

// An 8-bit floating-point format: sign, exponent, mantissa.
struct Byte {
  int mantissa_bits, bias;
  bool infinite;  // true: the largest exponent means infinity and NaN; false: only all ones mean NaN
  double most;    // largest finite value
};
constexpr Byte kE4m3{3, 7, false, 448}, kE5m2{2, 15, true, 57344};
constexpr std::uint8_t kByteNan = 0x7F, kByteInfinity = 0x7C;  // kByteInfinity is for e5m2 only

double from_byte(const Byte& type, std::uint8_t bits) {
  const double sign = (bits & 0x80U) != 0 ? -1 : 1;
  const int magnitude = bits & 0x7F;
  if (type.infinite && magnitude == kByteInfinity) return sign * std::numeric_limits<double>::infinity();
  if (type.infinite ? magnitude > kByteInfinity : magnitude == kByteNan)
    return std::numeric_limits<double>::quiet_NaN();
  const int exponent = magnitude >> type.mantissa_bits;
  const int mantissa = magnitude & ((1 << type.mantissa_bits) - 1);
  const int implied = exponent == 0 ? 0 : 1 << type.mantissa_bits;
  return sign * std::ldexp(mantissa + implied, std::max(exponent, 1) - type.bias - type.mantissa_bits);
}

// Rounds to nearest even. Values beyond the largest finite one become infinity, or NaN if there is no
// infinity.
std::uint8_t to_byte(const Byte& type, double value) {
  if (std::isnan(value)) return kByteNan;
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const std::uint8_t beyond = type.infinite ? kByteInfinity : kByteNan;
  const double size = std::abs(value);
  if (std::isinf(size)) return sign | beyond;
  if (size == 0) return sign;  // frexp has no exponent for zero
  int exponent = 0;
  std::frexp(size, &exponent);  // size is 0.5 .. 1 times 2^exponent
  exponent = std::max(exponent - 1, 1 - type.bias);
  const double unit = std::ldexp(1, exponent - type.mantissa_bits);
  const double units = std::nearbyint(size / unit);  // may carry into the exponent in the sum below
  if (units * unit > type.most) return sign | beyond;
  const int below = exponent + type.bias - 1;  // 0 for subnormals; else `units` adds 1
  return static_cast<std::uint8_t>(sign | ((below << type.mantissa_bits) + static_cast<int>(units)));
}

}  // namespace

std::string_view name(DType dtype) { return entry(dtype).name; }

std::string dtype_names() {
  std::string names;
  for (const Entry& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

DType parse_dtype(std::string_view text) {
  for (const Entry& type : kTypes) {
    if (type.name == text) return type.dtype;
  }
  throw Error(ErrorCode::invalid, "dtype is \"" + std::string(text) + "\"; accepted are " + dtype_names());
}

std::size_t bytes_of(DType dtype) { return entry(dtype).bytes; }
bool is_floating(DType dtype) {
  return dtype <= DType::bf16 || dtype == DType::fp8_e4m3 || dtype == DType::fp8_e5m2;
}

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return {-128, 127};
    case DType::uint8:
      return {0, 255};
    case DType::boolean:
      return {0, 1};
    case DType::int32:
      return {-0x1p31, 0x1p31 - 1};
    default:
      return {-0x1p63, 0x1p63};
  }
}

double load(DType dtype, const void* memory, std::size_t index) {
  switch (dtype) {
    case DType::fp64:
      return read<double>(memory, index);
    case DType::fp32:
      return static_cast<double>(read<float>(memory, index));
    case DType::fp16:
      return static_cast<double>(flashmoe::to_float(read<flashmoe::fp16>(memory, index)));
    case DType::bf16:
      return static_cast<double>(flashmoe::to_float(read<flashmoe::bf16>(memory, index)));
    case DType::int32:
      return read<std::int32_t>(memory, index);
    case DType::int64:
      return static_cast<double>(read<std::int64_t>(memory, index));
    case DType::int8:
      return read<std::int8_t>(memory, index);
    case DType::uint8:
    case DType::boolean:  // a byte other than 0 and 1 stays unchanged, so it equals no right value
      return read<std::uint8_t>(memory, index);
    case DType::fp8_e4m3:
      return from_byte(kE4m3, read<std::uint8_t>(memory, index));
    case DType::fp8_e5m2:
      return from_byte(kE5m2, read<std::uint8_t>(memory, index));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void store(DType dtype, void* memory, std::size_t index, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::fp64:
      return write(memory, index, value);
    case DType::fp32:
      return write(memory, index, single);
    case DType::fp16:
      return write(memory, index, flashmoe::to_fp16(single));
    case DType::bf16:
      return write(memory, index, flashmoe::to_bf16(single));
    case DType::int32:
      return write(memory, index, static_cast<std::int32_t>(std::llround(value)));
    case DType::int64:
      return write(memory, index, static_cast<std::int64_t>(std::llround(value)));
    case DType::int8:
      return write(memory, index, static_cast<std::int8_t>(std::llround(value)));
    case DType::uint8:
      return write(memory, index, static_cast<std::uint8_t>(std::llround(value)));
    case DType::boolean:
      return write(memory, index, static_cast<std::uint8_t>(value != 0 ? 1 : 0));
    case DType::fp8_e4m3:
      return write(memory, index, to_byte(kE4m3, value));
    case DType::fp8_e5m2:
      return write(memory, index, to_byte(kE5m2, value));
  }
}

void poison(DType dtype, void* memory, std::size_t elements) {
  const Entry& type = entry(dtype);
  for (std::size_t i = 0; i < elements; ++i) {
    if (type.bytes == 1) write(memory, i, static_cast<std::uint8_t>(type.poison));
    if (type.bytes == 2) write(memory, i, static_cast<std::uint16_t>(type.poison));
    if (type.bytes == 4) write(memory, i, static_cast<std::uint32_t>(type.poison));
    if (type.bytes == 8) write(memory, i, type.poison);
  }
}

bool poisoned(DType dtype, const void* memory, std::size_t index) {
  const Entry& type = entry(dtype);
  if (type.bytes == 1) return read<std::uint8_t>(memory, index) == type.poison;
  if (type.bytes == 2) return read<std::uint16_t>(memory, index) == type.poison;
  if (type.bytes == 4) return read<std::uint32_t>(memory, index) == type.poison;
  return read<std::uint64_t>(memory, index) == type.poison;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "operators/dtype.h"

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
  std::uint64_t poison;  // bits
};
// Payloads: 0xDE 0x47 where there is room for it.
constexpr std::array kTypes{
    Entry{DType::fp64, "fp64", 8, 0x7FF800000000DE47U},
    Entry{DType::fp32, "fp32", 4, 0x7FC0DE47U},
    Entry{DType::fp16, "fp16", 2, 0x7EDEU},
    Entry{DType::bf16, "bf16", 2, 0x7FDEU},
    Entry{DType::int32, "int32", 4, 0x80000000U},
    Entry{DType::int64, "int64", 8, 0x8000000000000000U},
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

}  // namespace

std::string_view name(DType dtype) { return entry(dtype).name; }

DType parse_dtype(std::string_view text) {
  std::string names;
  for (const Entry& type : kTypes) {
    if (type.name == text) return type.dtype;
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  throw Error(ErrorCode::invalid, "dtype is \"" + std::string(text) + "\"; accepted are " + names);
}

std::size_t bytes_of(DType dtype) { return entry(dtype).bytes; }
bool is_floating(DType dtype) { return dtype <= DType::bf16; }

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
  }
}

void poison(DType dtype, void* memory, std::size_t elements) {
  const Entry& type = entry(dtype);
  for (std::size_t i = 0; i < elements; ++i) {
    if (type.bytes == 2) write(memory, i, static_cast<std::uint16_t>(type.poison));
    if (type.bytes == 4) write(memory, i, static_cast<std::uint32_t>(type.poison));
    if (type.bytes == 8) write(memory, i, type.poison);
  }
}

bool poisoned(DType dtype, const void* memory, std::size_t index) {
  const Entry& type = entry(dtype);
  if (type.bytes == 2) return read<std::uint16_t>(memory, index) == type.poison;
  if (type.bytes == 4) return read<std::uint32_t>(memory, index) == type.poison;
  return read<std::uint64_t>(memory, index) == type.poison;
}

}  // namespace dent

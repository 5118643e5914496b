// SPDX-License-Identifier: MIT
#include "support/tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/half.h"

namespace flashmoe::test {
namespace {

struct View {
  std::array<int64_t, 4> strides;
  int64_t elements;   // size of the memory
  int64_t first = 0;  // position of element [0, 0, 0, 0]
};

View view_of(std::array<int64_t, 4> sizes, Layout layout, Role role) {
  const auto [b, h, s, d] = sizes;
  const View dense{{h * s * d, s * d, d, 1}, b * h * s * d};
  switch (layout) {
    case Layout::bhsd:
      return dense;
    case Layout::bshd:
      return {{s * h * d, d, h * d, 1}, b * h * s * d};
    case Layout::padded: {
      const int64_t row = d + 3;
      const int64_t head = s * row + 5;
      const int64_t batch = h * head + 7;
      return {{batch, head, row, 1}, b * batch};
    }
    case Layout::reversed:
      if (role == Role::out) return dense;
      return {{-h * s * d, -s * d, -d, 1}, dense.elements, dense.elements - d};
    case Layout::broadcast:
      if (role == Role::out) return dense;
      if (role == Role::kv) return {{0, 0, d, 1}, s * d};
      return {{0, s * d, d, 1}, h * s * d};
  }
  return {};
}

}  // namespace

void store(const Tensor& t, int64_t at, float value) {
  switch (t.dtype) {
    case DType::fp32:
      static_cast<float*>(t.data)[at] = value;
      return;
    case DType::fp16:
      static_cast<fp16*>(t.data)[at] = to_fp16(value);
      return;
    case DType::bf16:
      static_cast<bf16*>(t.data)[at] = to_bf16(value);
      return;
  }
}

float load(const Tensor& t, int64_t at) {
  switch (t.dtype) {
    case DType::fp32:
      return static_cast<const float*>(t.data)[at];
    case DType::fp16:
      return to_float(static_cast<const fp16*>(t.data)[at]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(t.data)[at]);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

int64_t offset(const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t d) {
  return b * t.strides[0] + h * t.strides[1] + s * t.strides[2] + d;
}

void poison(std::vector<std::byte>& memory, DType dtype) {
  const Tensor all{memory.data(), dtype, {}, {}};
  const auto elements = static_cast<int64_t>(memory.size()) / element_bytes(dtype);
  for (int64_t i = 0; i < elements; ++i) store(all, i, std::numeric_limits<float>::quiet_NaN());
}

Tensor allocate(std::vector<std::byte>& memory, std::array<int64_t, 4> sizes, const Shape& shape, Role role) {
  const View view = view_of(sizes, shape.layout, role);
  memory.resize(static_cast<std::size_t>(view.elements * element_bytes(shape.dtype)));
  poison(memory, shape.dtype);
  if (memory.empty()) return {memory.data(), shape.dtype, sizes, view.strides};
  return {memory.data() + view.first * element_bytes(shape.dtype), shape.dtype, sizes, view.strides};
}

void fill_normal(const Tensor& t, float spread, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.0F, spread);
  for (int64_t b = 0; b < t.sizes[0]; ++b)
    for (int64_t h = 0; h < t.sizes[1]; ++h)
      for (int64_t s = 0; s < t.sizes[2]; ++s)
        for (int64_t d = 0; d < t.sizes[3]; ++d) store(t, offset(t, b, h, s, d), normal(random));
}

bool agrees(double actual, double expected, double bound) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= bound;
}

std::string stray_write(const char* name, const Tensor& t, const std::vector<std::byte>& memory) {
  const auto bytes = static_cast<std::size_t>(element_bytes(t.dtype));
  std::vector<std::byte> gaps = memory;
  Tensor copy = t;
  copy.data = gaps.data() + (static_cast<const std::byte*>(t.data) - memory.data());
  for (int64_t b = 0; b < t.sizes[0]; ++b)
    for (int64_t h = 0; h < t.sizes[1]; ++h)
      for (int64_t s = 0; s < t.sizes[2]; ++s)
        Problem::set_row(copy, b, h, s, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::byte> poison(memory.size());
  copy.data = poison.data();
  for (std::size_t i = 0; i < poison.size() / bytes; ++i) {
    store(copy, static_cast<int64_t>(i), std::numeric_limits<float>::quiet_NaN());
  }
  const auto [changed, _] = std::mismatch(gaps.begin(), gaps.end(), poison.begin());
  if (changed == gaps.end()) return "";
  return "element " + std::to_string(static_cast<std::size_t>(changed - gaps.begin()) / bytes) + " of " +
         name + "'s memory lies between its rows and was written";
}

}  // namespace flashmoe::test

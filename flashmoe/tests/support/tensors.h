// SPDX-License-Identifier: MIT
// Tensors for tests: memory in any layout, filled and read element by element.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "support/problem.h"

namespace flashmoe::test {

enum class Role { q, kv, out };

// A tensor in `memory`, which is filled with NaN, including gaps between rows: a kernel that reads a gap gets
// NaN.
Tensor allocate(std::vector<std::byte>& memory, std::array<int64_t, 4> sizes, const Shape& shape, Role role);

// Sets every element of `memory` to NaN.
void poison(std::vector<std::byte>& memory, DType dtype);

void fill_normal(const Tensor& t, float spread, std::mt19937_64& random);

// Access by offset from the tensor's first element; values are rounded to the dtype.
void store(const Tensor& t, int64_t at, float value);
float load(const Tensor& t, int64_t at);
int64_t offset(const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t d);

// The first gap of a tensor in `memory` that changed since allocate; "" if there is none.
std::string stray_write(const char* name, const Tensor& t, const std::vector<std::byte>& memory);

// Negated so that NaN disagrees, unless both are NaN; infinities must be equal.
bool agrees(double actual, double expected, double bound);

}  // namespace flashmoe::test

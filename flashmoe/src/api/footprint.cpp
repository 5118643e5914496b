// SPDX-License-Identifier: MIT
#include "api/footprint.h"

#include <algorithm>

#include "problem/forward_problem.h"

namespace flashmoe {

Footprint Footprint::of(const Tensor& t) {
  const auto element = static_cast<uint64_t>(element_bytes(t.dtype));
  Footprint f{.low = reinterpret_cast<std::uintptr_t>(t.data),
              .row_bytes = static_cast<uint64_t>(t.sizes[3]) * element};
  for (int i = 0; i < 3; ++i) {
    if (t.sizes[i] == 1) continue;
    const auto count = static_cast<uint64_t>(t.sizes[i]);
    auto stride = static_cast<uint64_t>(t.strides[i]) * element;
    if (t.strides[i] < 0) {
      f.low += (count - 1) * stride;  // wraps around to a smaller address
      stride = 0 - stride;
    }
    int at = f.num_steps++;
    for (; at > 0 && f.steps[at - 1].stride > stride; --at) f.steps[at] = f.steps[at - 1];
    f.steps[at] = {stride, count};
  }
  int kept = 0;
  for (int i = 0; i < f.num_steps; ++i) {
    if (kept == 0 && f.steps[i].stride == f.row_bytes) {
      f.row_bytes *= f.steps[i].count;
    } else {
      f.steps[kept++] = f.steps[i];
    }
  }
  f.num_steps = kept;
  return f;
}

std::uintptr_t Footprint::end() const {
  std::uintptr_t end = low + row_bytes;
  for (int i = 0; i < num_steps; ++i) end += (steps[i].count - 1) * steps[i].stride;
  return end;
}

bool Footprint::nests() const {
  uint64_t reached = row_bytes;
  for (int i = 0; i < num_steps; ++i) {
    if (steps[i].stride < reached) return false;
    reached += steps[i].stride * (steps[i].count - 1);
  }
  return true;
}

namespace {

// Does a row of `nested` meet [begin, end)? Its rows in the order of their addresses count like digits of a
// number, so the last row that starts before `end` is found digit by digit.
bool meets(const Footprint& nested, std::uintptr_t begin, std::uintptr_t end) {
  if (end <= nested.low) return false;
  uint64_t rest = end - 1 - nested.low;
  std::uintptr_t row = nested.low;
  for (int i = nested.num_steps - 1; i >= 0; --i) {
    const auto [stride, count] = nested.steps[i];
    const uint64_t digit = std::min(rest / stride, count - 1);
    rest -= digit * stride;
    row += digit * stride;
  }
  return row + nested.row_bytes > begin;
}

}  // namespace

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.end() <= b.low || b.end() <= a.low) return false;
  const auto count = [&](int i) { return i < b.num_steps && b.steps[i].stride != 0 ? b.steps[i].count : 1; };
  for (uint64_t x = 0; x < count(0); ++x) {
    for (uint64_t y = 0; y < count(1); ++y) {
      for (uint64_t z = 0; z < count(2); ++z) {
        const std::uintptr_t row =
            b.low + x * b.steps[0].stride + y * b.steps[1].stride + z * b.steps[2].stride;
        if (meets(a, row, row + b.row_bytes)) return true;
      }
    }
  }
  return false;
}

}  // namespace flashmoe

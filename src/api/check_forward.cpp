// SPDX-License-Identifier: MIT
#include "api/check_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace flashmoe {
namespace {

using Where = std::source_location;

struct Named {
  const char* name;
  const Tensor& tensor;
};

[[noreturn]] void refuse(const std::string& what, const std::string& remedy = {}, Where where = Where::current()) {
  throw Error(ErrorCode::invalid_argument, "attention_forward: " + what, remedy, where);
}

std::string shape_of(const Tensor& t) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(t.sizes[i]);
  return text + "]";
}

void check_dtype(const Named& t, DType expected) {
  const auto value = static_cast<int32_t>(t.tensor.dtype);
  if (value < 0 || value > 2) {
    refuse(std::string(t.name) + " has dtype " + std::to_string(value) + "; accepted are 0 (fp32), 1 (fp16), 2 (bf16)");
  }
  if (t.tensor.dtype != expected) {
    refuse(std::string(t.name) + " is " + name_of(t.tensor.dtype) + " but q is " + name_of(expected) +
               "; q, k, v and out must share one dtype",
           "convert the tensors to one of fp32, fp16, bf16");
  }
}

void check_sizes_and_strides(const Named& t) {
  static constexpr const char* kDims[] = {"batch", "heads", "rows", "head_dim"};
  for (int i = 0; i < 4; ++i) {
    if (t.tensor.sizes[i] < 1) {
      refuse(std::string(t.name) + " has " + kDims[i] + " = " + std::to_string(t.tensor.sizes[i]) + " in shape " +
             shape_of(t.tensor) + "; every size must be at least 1");
    }
  }
  if (t.tensor.sizes[3] > 1 && t.tensor.strides[3] != 1) {
    refuse(std::string(t.name) + " has stride " + std::to_string(t.tensor.strides[3]) +
               " in its last dimension; it must be 1",
           "make the head_dim dimension contiguous");
  }
}

void check_same(const Named& t, int dim, int64_t expected, const char* of) {
  if (t.tensor.sizes[dim] != expected) {
    refuse(std::string(t.name) + " has shape " + shape_of(t.tensor) + ": dimension " + std::to_string(dim) + " is " +
           std::to_string(t.tensor.sizes[dim]) + " and must be " + std::to_string(expected) + ", as in " + of);
  }
}

// [first, last) byte addresses of one row, and of everything a view can reach.
using Extent = std::pair<std::uintptr_t, std::uintptr_t>;

std::uintptr_t row_address(const Tensor& t, int64_t b, int64_t h, int64_t s) {
  const int64_t elements = b * t.strides[0] + h * t.strides[1] + s * t.strides[2];
  return reinterpret_cast<std::uintptr_t>(t.data) + static_cast<std::uintptr_t>(elements * element_bytes(t.dtype));
}

Extent reach(const Tensor& t) {
  int64_t low = 0;
  int64_t high = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t last = (t.sizes[i] - 1) * t.strides[i];
    (last < 0 ? low : high) += last;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(t.data);
  const int64_t size = element_bytes(t.dtype);
  return {base + static_cast<std::uintptr_t>(low * size),
          base + static_cast<std::uintptr_t>((high + t.sizes[3]) * size)};
}

void append_rows(const Tensor& t, std::vector<Extent>& rows) {
  const auto row_bytes = static_cast<std::uintptr_t>(t.sizes[3] * element_bytes(t.dtype));
  for (int64_t b = 0; b < t.sizes[0]; ++b) {
    for (int64_t h = 0; h < t.sizes[1]; ++h) {
      for (int64_t s = 0; s < t.sizes[2]; ++s) {
        const std::uintptr_t start = row_address(t, b, h, s);
        rows.emplace_back(start, start + row_bytes);
      }
    }
  }
}

bool any_neighbours_overlap(std::vector<Extent>& rows) {
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].first < rows[i - 1].second) return true;
  }
  return false;
}

// True when walking the dimensions from the smallest stride up never steps back into bytes already covered.
// Sufficient for a view whose elements are all distinct, and true of every ordinary layout.
bool strides_nest(const Tensor& t) {
  std::array<std::pair<int64_t, int64_t>, 3> dims;  // |stride|, size
  for (int i = 0; i < 3; ++i) dims[i] = {std::abs(t.strides[i]), t.sizes[i]};
  std::sort(dims.begin(), dims.end());
  int64_t covered = t.sizes[3];
  for (const auto& [stride, size] : dims) {
    if (size == 1) continue;
    if (stride < covered) return false;
    covered = stride * (size - 1) + covered;
  }
  return true;
}

// The quick tests settle every ordinary call; only views that interleave in one buffer pay for the exact one.
void check_no_overlap(const Tensor& out, const std::array<Named, 3>& inputs) {
  if (!strides_nest(out)) {
    std::vector<Extent> rows;
    append_rows(out, rows);
    if (any_neighbours_overlap(rows)) {
      refuse("out overlaps itself: strides [" + std::to_string(out.strides[0]) + ", " + std::to_string(out.strides[1]) +
                 ", " + std::to_string(out.strides[2]) + ", 1] for shape " + shape_of(out),
             "give out memory of its own");
    }
  }
  const Extent out_reach = reach(out);
  for (const Named& in : inputs) {
    const Extent in_reach = reach(in.tensor);
    if (in_reach.second <= out_reach.first || out_reach.second <= in_reach.first) continue;
    std::vector<Extent> out_rows;
    append_rows(out, out_rows);
    std::sort(out_rows.begin(), out_rows.end());
    std::vector<Extent> in_rows;
    append_rows(in.tensor, in_rows);
    for (const Extent& row : in_rows) {
      // Rows of out do not overlap each other, so the last one that starts before this row's end decides.
      auto next = std::lower_bound(out_rows.begin(), out_rows.end(), Extent{row.second, 0});
      if (next != out_rows.begin() && std::prev(next)->second > row.first) {
        refuse(std::string("out overlaps ") + in.name + " in memory", "give out memory of its own");
      }
    }
  }
}

bool fits_in_memory(const Tensor& t) {
  // Offsets are computed in int64 elements and bytes: keep their largest value far from overflow.
  constexpr double kLimit = 0x1p61;
  double span = static_cast<double>(t.sizes[3]);
  for (int i = 0; i < 3; ++i) span += std::abs(static_cast<double>(t.sizes[i] - 1) * static_cast<double>(t.strides[i]));
  return span < kLimit;
}

}  // namespace

ForwardProblem check_shapes(const ForwardArgs& args) {
  const Named q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, out{"out", args.out};
  check_dtype(q, args.q.dtype);
  for (const Named& t : {k, v, out}) check_dtype(t, args.q.dtype);
  for (const Named& t : {q, k, v, out}) {
    check_sizes_and_strides(t);
    if (!fits_in_memory(t.tensor)) refuse(std::string(t.name) + " spans more memory than an address can reach");
  }
  check_same(k, 0, args.q.sizes[0], "q");
  check_same(k, 3, args.q.sizes[3], "q");
  for (int i = 0; i < 4; ++i) check_same(v, i, args.k.sizes[i], "k");
  for (int i = 0; i < 4; ++i) check_same(out, i, args.q.sizes[i], "q");
  if (args.q.sizes[1] % args.k.sizes[1] != 0) {
    refuse("q has " + std::to_string(args.q.sizes[1]) + " heads and k has " + std::to_string(args.k.sizes[1]) +
           "; the heads of q must be a multiple of those of k");
  }
  const auto mask = static_cast<int32_t>(args.mask);
  if (mask < 0 || mask > 2) {
    refuse("mask is " + std::to_string(mask) + "; accepted are 0 (none), 1 (causal), 2 (causal_top_left)");
  }
  if (args.scale && !std::isfinite(*args.scale)) {
    refuse("scale is " + std::to_string(*args.scale) + "; it must be finite");
  }
  if (args.execution.threads < 0) {
    refuse("threads is " + std::to_string(args.execution.threads) + "; accepted are 0 (all cores) and above");
  }
  const auto device = static_cast<int32_t>(args.execution.device);
  if (device < 0 || device > 1) {
    refuse("device is " + std::to_string(device) + "; accepted are 0 (cpu), 1 (cuda)");
  }
  const int64_t head_dim = args.q.sizes[3];
  return {.batch = args.q.sizes[0],
          .q_heads = args.q.sizes[1],
          .kv_heads = args.k.sizes[1],
          .q_rows = args.q.sizes[2],
          .kv_rows = args.k.sizes[2],
          .head_dim = head_dim,
          .dtype = args.q.dtype,
          .mask = args.mask,
          .scale = args.scale.value_or(1.0F / std::sqrt(static_cast<float>(head_dim)))};
}

ForwardProblem check_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  for (const Named& t : {Named{"q", args.q}, {"k", args.k}, {"v", args.v}, {"out", args.out}}) {
    if (t.tensor.data == nullptr) refuse(std::string(t.name) + " has a null data pointer");
    const auto alignment = static_cast<std::uintptr_t>(element_bytes(problem.dtype));
    const auto address = reinterpret_cast<std::uintptr_t>(t.tensor.data);
    if (address % alignment != 0) {
      refuse(std::string(t.name) + " starts " + std::to_string(address % alignment) + " bytes past a multiple of " +
             std::to_string(alignment) + "; data must be aligned to its " + name_of(problem.dtype) + " elements");
    }
  }
  if (reinterpret_cast<std::uintptr_t>(args.lse) % alignof(float) != 0) {
    refuse("lse is not aligned to 4 bytes");
  }
  check_no_overlap(args.out, {Named{"q", args.q}, {"k", args.k}, {"v", args.v}});
  return problem;
}

}  // namespace flashmoe

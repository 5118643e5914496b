// SPDX-License-Identifier: MIT
#include "api/check_forward.h"

#include <cmath>
#include <string>

#include "api/footprint.h"

namespace flashmoe {
namespace {

using Where = std::source_location;

struct Named {
  const char* name;
  const Tensor& tensor;
};

[[noreturn]] void refuse(const std::string& what, const std::string& remedy = {},
                         Where where = Where::current()) {
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
    refuse(std::string(t.name) + " has dtype " + std::to_string(value) +
           "; accepted are 0 (fp32), 1 (fp16), 2 (bf16)");
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
      refuse(std::string(t.name) + " has " + kDims[i] + " = " + std::to_string(t.tensor.sizes[i]) +
             " in shape " + shape_of(t.tensor) + "; every size must be at least 1");
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
    refuse(std::string(t.name) + " has shape " + shape_of(t.tensor) + ": dimension " + std::to_string(dim) +
           " is " + std::to_string(t.tensor.sizes[dim]) + " and must be " + std::to_string(expected) +
           ", as in " + of);
  }
}

// out and lse are written: no byte of either may belong to anything else, nor to two elements of out.
void check_no_overlap(const ForwardArgs& args, const ForwardProblem& problem) {
  const Footprint out = Footprint::of(args.out);
  if (!out.nests()) {
    const auto& strides = args.out.strides;
    refuse("out overlaps itself: strides [" + std::to_string(strides[0]) + ", " + std::to_string(strides[1]) +
               ", " + std::to_string(strides[2]) + ", 1] for shape " + shape_of(args.out) +
               "; each stride must step over all that smaller ones reach",
           "give out memory of its own");
  }
  const auto lse_bytes =
      static_cast<std::size_t>(problem.batch * problem.q_heads * problem.q_rows) * sizeof(float);
  const Footprint lse = Footprint::of(args.lse, args.lse == nullptr ? 0 : lse_bytes);
  for (const Named& in : {Named{"q", args.q}, {"k", args.k}, {"v", args.v}}) {
    const Footprint bytes = Footprint::of(in.tensor);
    if (overlap(out, bytes)) {
      refuse(std::string("out overlaps ") + in.name + " in memory", "give out memory of its own");
    }
    if (args.lse != nullptr && overlap(lse, bytes)) {
      refuse(std::string("lse overlaps ") + in.name + " in memory", "give lse memory of its own");
    }
  }
  if (args.lse != nullptr && overlap(lse, out))
    refuse("lse overlaps out in memory", "give lse memory of its own");
}

// Offsets and element counts are computed in int64: keep their largest values far from overflow.
bool fits_in_memory(const Tensor& t) {
  constexpr double kLimit = 0x1p60;
  double span = static_cast<double>(t.sizes[3]);
  double elements = span;
  for (int i = 0; i < 3; ++i) {
    span += std::abs(static_cast<double>(t.sizes[i] - 1) * static_cast<double>(t.strides[i]));
    elements *= static_cast<double>(t.sizes[i]);
  }
  return span < kLimit && elements < kLimit;
}

}  // namespace

ForwardProblem check_shapes(const ForwardArgs& args) {
  const Named q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, out{"out", args.out};
  check_dtype(q, args.q.dtype);
  for (const Named& t : {k, v, out}) check_dtype(t, args.q.dtype);
  for (const Named& t : {q, k, v, out}) {
    check_sizes_and_strides(t);
    if (!fits_in_memory(t.tensor)) {
      refuse(std::string(t.name) + " of shape " + shape_of(t.tensor) +
             " spans more memory than an address can reach");
    }
  }
  check_same(k, 0, args.q.sizes[0], "q");
  check_same(k, 3, args.q.sizes[3], "q");
  for (int i = 0; i < 4; ++i) check_same(v, i, args.k.sizes[i], "k");
  for (int i = 0; i < 4; ++i) check_same(out, i, args.q.sizes[i], "q");
  if (args.q.sizes[1] % args.k.sizes[1] != 0) {
    refuse("q has " + std::to_string(args.q.sizes[1]) + " heads and k has " +
           std::to_string(args.k.sizes[1]) + "; the heads of q must be a multiple of those of k");
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
      refuse(std::string(t.name) + " starts " + std::to_string(address % alignment) +
             " bytes past a multiple of " + std::to_string(alignment) + "; data must be aligned to its " +
             name_of(problem.dtype) + " elements");
    }
  }
  if (const auto past = reinterpret_cast<std::uintptr_t>(args.lse) % alignof(float); past != 0) {
    refuse("lse starts " + std::to_string(past) +
           " bytes past a multiple of 4; data must be aligned to its floats");
  }
  check_no_overlap(args, problem);
  return problem;
}

}  // namespace flashmoe

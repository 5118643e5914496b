// SPDX-License-Identifier: MIT
#include "api/check_tensors.h"

#include <algorithm>
#include <cmath>

#include "api/check_lengths.h"
#include "api/check_spans.h"

namespace flashmoe {
namespace {

std::string shape_of(const Tensor& t) {
  std::string text = "[";
  for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(t.sizes[i]);
  return text + "]";
}

bool is_empty(const Tensor& t) {
  return t.sizes[0] == 0 || t.sizes[1] == 0 || t.sizes[2] == 0 || t.sizes[3] == 0;
}

// Offsets and element counts are computed in int64: keep their largest values far from overflow.
constexpr double kMostElements = 0x1p60;

// Elements from the lowest address to the highest, of one dimension.
double span_of(int64_t size, int64_t stride) {
  return std::abs(static_cast<double>(size - 1) * static_cast<double>(stride));
}

bool fits_in_memory(const Tensor& t) {
  double span = static_cast<double>(t.sizes[3]);
  double elements = span;
  for (int i = 0; i < 3; ++i) {
    span += span_of(t.sizes[i], t.strides[i]);
    elements *= static_cast<double>(std::max<int64_t>(t.sizes[i], 1));
  }
  return span < kMostElements && elements < kMostElements;
}

void check_dtype(const TensorChecks& checks, const NamedTensor& t, DType expected) {
  const auto value = static_cast<int32_t>(t.tensor.dtype);
  if (value < 0 || value > 2) {
    checks.refuse(std::string(t.name) + " has dtype " + std::to_string(value) +
                  "; accepted are 0 (fp32), 1 (fp16), 2 (bf16)");
  }
  if (t.tensor.dtype != expected) {
    checks.refuse(std::string(t.name) + " is " + name_of(t.tensor.dtype) + " but q is " + name_of(expected) +
                      "; all tensors must share one dtype",
                  "convert the tensors to one of fp32, fp16, bf16");
  }
}

void check_sizes_and_strides(const TensorChecks& checks, const NamedTensor& t) {
  static constexpr const char* kDims[] = {"batch", "heads", "rows", "head_dim"};
  for (int i = 0; i < 4; ++i) {
    const int64_t least = i == 3 ? 1 : 0;
    if (t.tensor.sizes[i] < least) {
      checks.refuse(std::string(t.name) + " has " + kDims[i] + " = " + std::to_string(t.tensor.sizes[i]) +
                    " in shape " + shape_of(t.tensor) + "; it must be at least " + std::to_string(least));
    }
  }
  if (t.tensor.sizes[3] > 1 && t.tensor.strides[3] != 1 && !is_empty(t.tensor)) {
    checks.refuse(std::string(t.name) + " has stride " + std::to_string(t.tensor.strides[3]) +
                      " in its last dimension; it must be 1",
                  "make the head_dim dimension contiguous");
  }
  if (!fits_in_memory(t.tensor)) {
    checks.refuse(std::string(t.name) + " of shape " + shape_of(t.tensor) +
                  " spans more memory than an address can reach");
  }
}

void check_same(const TensorChecks& checks, const NamedTensor& t, int dim, int64_t expected, const char* of) {
  if (t.tensor.sizes[dim] == expected) return;
  checks.refuse(std::string(t.name) + " has shape " + shape_of(t.tensor) + ": dimension " +
                std::to_string(dim) + " is " + std::to_string(t.tensor.sizes[dim]) + " and must be " +
                std::to_string(expected) + ", as in " + of);
}

void check_heads(const TensorChecks& checks, int64_t q_heads, int64_t kv_heads) {
  if (kv_heads == 0 ? q_heads == 0 : q_heads % kv_heads == 0) return;
  checks.refuse("q has " + std::to_string(q_heads) + " heads and k has " + std::to_string(kv_heads) +
                "; the heads of q must be a multiple of those of k");
}

void check_options(const TensorChecks& checks, Mask mask, const Window& window, std::optional<float> scale,
                   const Execution& execution) {
  if (const auto value = static_cast<int32_t>(mask); value < 0 || value > 2) {
    checks.refuse("mask is " + std::to_string(value) +
                  "; accepted are 0 (none), 1 (causal), 2 (causal_top_left)");
  }
  if (window.left < 0 || window.right < 0) {
    checks.refuse("window is (" + std::to_string(window.left) + ", " + std::to_string(window.right) +
                  "); both sides must be 0 or more");
  }
  if (scale && !std::isfinite(*scale)) {
    checks.refuse("scale is " + std::to_string(*scale) + "; it must be finite");
  }
  if (execution.threads < 0) {
    checks.refuse("threads is " + std::to_string(execution.threads) +
                  "; accepted are 0 (all cores) and above");
  }
  if (const auto value = static_cast<int32_t>(execution.device); value < 0 || value > 1) {
    checks.refuse("device is " + std::to_string(value) + "; accepted are 0 (cpu), 1 (cuda)");
  }
}

}  // namespace

NamedBytes NamedBytes::of(const NamedTensor& t) {
  return {t.name, is_empty(t.tensor) ? Footprint{} : Footprint::of(t.tensor)};
}

NamedBytes NamedBytes::of(const char* name, const void* data, int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * 4;
  return {name, Footprint::of(data, data == nullptr ? 0 : bytes)};
}

void TensorChecks::refuse(const std::string& what, const std::string& remedy, Where where) const {
  throw Error(ErrorCode::invalid_argument, std::string(call_) + ": " + what, remedy, where);
}

void TensorChecks::unsupported(const std::string& what, const std::string& remedy, Where where) const {
  throw Error(ErrorCode::unsupported, std::string(call_) + ": " + what, remedy, where);
}

void TensorChecks::tensors(std::initializer_list<NamedTensor> all) const {
  for (const NamedTensor& t : all) check_dtype(*this, t, all.begin()->tensor.dtype);
  for (const NamedTensor& t : all) check_sizes_and_strides(*this, t);
}

void TensorChecks::same_shape(const NamedTensor& t, const NamedTensor& as) const {
  for (int i = 0; i < 4; ++i) check_same(*this, t, i, as.tensor.sizes[i], as.name);
}

ForwardProblem TensorChecks::problem(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask,
                                     const Window& window, std::optional<float> scale,
                                     const Execution& execution, const Lengths& lengths,
                                     const Spans& spans) const {
  if (!lengths.given()) check_same(*this, {"k", k}, 0, q.sizes[0], "q");
  check_same(*this, {"k", k}, 3, q.sizes[3], "q");
  same_shape({"v", v}, {"k", k});
  check_heads(*this, q.sizes[1], k.sizes[1]);
  check_options(*this, mask, window, scale, execution);
  if (lengths.given()) check_lengths(*this, lengths, q, k, execution);
  if (spans.given()) check_spans(*this, spans, k);
  const ForwardProblem asked{.batch = q.sizes[0],
                             .q_heads = q.sizes[1],
                             .kv_heads = k.sizes[1],
                             .q_rows = q.sizes[2],
                             .kv_rows = k.sizes[2],
                             .head_dim = q.sizes[3],
                             .dtype = q.dtype,
                             .mask = mask,
                             .scale = scale.value_or(1.0F / std::sqrt(static_cast<float>(q.sizes[3]))),
                             .window = window,
                             .spans = SpanNames::of(spans),
                             .lengths = LengthNames::of(lengths)};
  return asked.simplified();
}

void TensorChecks::pointers(std::initializer_list<NamedTensor> all) const {
  for (const NamedTensor& t : all) {
    if (is_empty(t.tensor)) continue;
    if (t.tensor.data == nullptr) refuse(std::string(t.name) + " has a null data pointer");
    const auto alignment = static_cast<std::uintptr_t>(element_bytes(t.tensor.dtype));
    const auto past = reinterpret_cast<std::uintptr_t>(t.tensor.data) % alignment;
    if (past != 0) {
      refuse(std::string(t.name) + " starts " + std::to_string(past) + " bytes past a multiple of " +
             std::to_string(alignment) + "; data must be aligned to its " + name_of(t.tensor.dtype) +
             " elements");
    }
  }
}

void TensorChecks::pointer(const char* name, const void* data) const {
  const auto past = reinterpret_cast<std::uintptr_t>(data) % 4;
  if (past == 0) return;
  refuse(std::string(name) + " starts " + std::to_string(past) +
         " bytes past a multiple of 4; data must be aligned to its elements");
}

void TensorChecks::reach(const char* name, const std::array<int64_t, 4>& sizes,
                         const std::array<int64_t, 4>& strides) const {
  double span = 1;
  for (std::size_t i = 0; i < 4; ++i) span += span_of(std::max<int64_t>(sizes[i], 1), strides[i]);
  if (span < kMostElements) return;
  std::string text;
  for (const int64_t stride : strides) text += (text.empty() ? "" : ", ") + std::to_string(stride);
  refuse(std::string(name) + " with strides [" + text + "] spans more memory than an address can reach");
}

void TensorChecks::nests(const NamedTensor& written, const NamedBytes& bytes) const {
  if (bytes.bytes.nests()) return;
  const auto& strides = written.tensor.strides;
  refuse(std::string(written.name) + " overlaps itself: strides [" + std::to_string(strides[0]) + ", " +
             std::to_string(strides[1]) + ", " + std::to_string(strides[2]) + ", 1] for shape " +
             shape_of(written.tensor) + "; each stride must step over all that smaller ones reach",
         "give " + std::string(written.name) + " memory of its own");
}

void TensorChecks::apart(const NamedBytes& written, std::initializer_list<const NamedBytes*> others) const {
  if (written.bytes.row_bytes == 0) return;
  for (const NamedBytes* other : others) {
    if (other->bytes.row_bytes == 0 || !overlap(written.bytes, other->bytes)) continue;
    refuse(std::string(written.name) + " overlaps " + other->name + " in memory",
           "give " + std::string(written.name) + " memory of its own");
  }
}

}  // namespace flashmoe

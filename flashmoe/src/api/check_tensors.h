// SPDX-License-Identifier: MIT
// What every call checks of its tensors and options. Its messages begin with the name of the call.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>

#include "api/footprint.h"
#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe {

struct NamedTensor {
  const char* name;
  const Tensor& tensor;
};

// The bytes of a tensor or an array; none where `bytes.row_bytes` is 0.
struct NamedBytes {
  const char* name;
  Footprint bytes;

  static NamedBytes of(const NamedTensor& t);
  // Of an array of 4-byte elements; none for a null pointer.
  static NamedBytes of(const char* name, const void* data, int64_t count);
};

class TensorChecks {
 public:
  using Where = std::source_location;

  explicit constexpr TensorChecks(const char* call) : call_(call) {}

  [[noreturn]] void refuse(const std::string& what, const std::string& remedy = {},
                           Where where = Where::current()) const;
  // A valid problem that can't be run.
  [[noreturn]] void unsupported(const std::string& what, const std::string& remedy,
                                Where where = Where::current()) const;

  // One dtype for all, that of the first; sizes and strides that can be right.
  void tensors(std::initializer_list<NamedTensor> all) const;
  void same_shape(const NamedTensor& t, const NamedTensor& as) const;
  // k and v fit q, the options are what they can be, and lengths and spans fit both.
  ForwardProblem problem(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask, const Window& window,
                         std::optional<float> scale, const Execution& execution, const Lengths& lengths,
                         const Spans& spans) const;

  // Not null, and aligned to their elements.
  void pointers(std::initializer_list<NamedTensor> all) const;
  void pointer(const char* name, const void* data) const;  // of 4-byte elements: aligned

  // An array with these sizes and strides ends where an address can reach.
  void reach(const char* name, const std::array<int64_t, 4>& sizes,
             const std::array<int64_t, 4>& strides) const;

  // No two elements share a byte. `bytes` are the tensor's.
  void nests(const NamedTensor& written, const NamedBytes& bytes) const;
  // `written`, which nests, shares no byte with any of them.
  void apart(const NamedBytes& written, std::initializer_list<const NamedBytes*> others) const;

 private:
  const char* call_;
};

// Elements of a log-sum-exp.
inline int64_t rows_of(const ForwardProblem& p) { return p.batch * p.q_heads * p.q_rows; }

}  // namespace flashmoe

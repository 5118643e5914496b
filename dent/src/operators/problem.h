// SPDX-License-Identifier: MIT
// An operator defines what a kernel computes, with open sizes; a problem is an operator with given sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators/dtype.h"
#include "operators/expression.h"
#include "operators/family.h"
#include "operators/fill.h"

namespace dent {

struct TensorRule {
  std::string name;
  DType dtype = DType::fp32;
  std::vector<std::string> dims;  // expressions
  Fill fill;                      // for inputs
  bool constant = false;          // for inputs: equal in all calls until all inputs are drawn again
};

// Source of expected values. Runs in its own process, never in a candidate's.
struct Reference {
  enum class Kind { attention, python, library };
  Kind kind = Kind::attention;
  std::string entry;    // python: "module:function"; library: the entry symbol
  std::string library;  // library: path of the .so; empty if `source` is compiled to it
  std::string source;
  DType dtype = DType::fp64;  // inputs are widened to this type, and outputs have it
};

// got - expected| <= absolute + relative * |expected| for each element. If neither is given, both follow from
// the output's type and the number of terms summed up per element. Attention has its own bound for each
// element, derived from type and length; `slack` multiplies it.
struct Tolerance {
  std::optional<double> absolute;
  std::optional<double> relative;
  double slack = 1;
};

struct Operator {
  std::string name;
  Family family = Family::other;
  std::vector<TensorRule> inputs;
  std::vector<TensorRule> outputs;
  std::vector<TensorRule> scratch{};  // memory for the kernel's own use: poisoned but not compared
  Numbers parameters;                 // defaults, which shapes may override
  Reference reference;
  std::string inputs_from{};  // "module:function" that makes inputs of fill python
  Tolerance tolerance;
  std::string flops;  // expressions; empty: unknown
  std::string bytes;
  std::string reduction{};  // terms summed up per element; empty: see terms_of in problem.cpp
};

struct Shape {
  std::string name;
  Numbers sizes;
  double weight = 1;  // in means over shapes; 0: checked but not timed
  bool timed() const { return weight > 0; }
  bool operator==(const Shape&) const = default;
};

struct Tensor {
  std::string name;
  DType dtype = DType::fp32;
  std::vector<std::int64_t> sizes;
  Fill fill;
  int updates = -1;       // for an output: the input of the same name, whose values it holds before a call
  bool scratch = false;   // for an output: the kernel's own memory, which is not compared
  double terms = 1;       // for an output: terms summed up per element
  bool constant = false;  // for an input: equal in all calls until all inputs are drawn again

  bool made() const { return fill.kind == Fill::Kind::python; }
  std::size_t elements() const;
  std::size_t bytes() const { return elements() * bytes_of(dtype); }
};

struct Problem {
  std::string shape;  // name of the shape
  Numbers numbers;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // compared outputs, then scratch
  double flops = 0;             // 0: unknown
  double bytes = 0;
  double weight = 1;  // weight of its shape

  std::size_t compared() const;  // number of outputs that are not scratch
  bool has_made() const;         // whether a function makes an input
  bool has_sets() const;         // whether a function makes an input for each call
};

// Throws Error if a size is missing, not whole or not positive.
Problem make_problem(const Operator& op, const Shape& shape);

// The sizes that the shape itself gives: "B=1 H=8 S=128".
std::string describe(const Shape& shape);

}  // namespace dent

// SPDX-License-Identifier: MIT
// An operator is what a kernel claims to compute, with sizes left open; a problem is one with sizes filled
// in.
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
  Fill fill;                      // of inputs
  bool constant = false;          // of inputs: the same in every call until all are drawn anew
};

// Who says what is right. Runs in a process of its own, never in a candidate's.
struct Reference {
  enum class Kind { attention, python, library };
  Kind kind = Kind::attention;
  std::string entry;    // python: "module:function"; library: the entry symbol
  std::string library;  // library: path of the .so, or empty where `source` is compiled for it
  std::string source;
  DType dtype = DType::fp64;  // inputs are widened to it, outputs come in it
};

// |got - expected| <= absolute + relative * |expected|, for each element. Where neither is given, both follow
// from the output's type and from how many terms are summed up for an element. Attention has a bound of its
// own for each element, derived from type and length; `slack` multiplies it.
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
  std::vector<TensorRule> scratch{};  // memory for the kernel's own use: poisoned, and not compared
  Numbers parameters;                 // defaults, which a shape may override
  Reference reference;
  std::string inputs_from{};  // "module:function", which makes the inputs whose fill is python
  Tolerance tolerance;
  std::string flops;  // expressions; empty: not known
  std::string bytes;
  std::string reduction{};  // terms that are summed up for an element; empty: see terms_of in problem.cpp
};

struct Shape {
  std::string name;
  Numbers sizes;
  double weight = 1;  // in means over shapes; 0: the kernel has to be right there, and is not timed
  bool timed() const { return weight > 0; }
  bool operator==(const Shape&) const = default;
};

struct Tensor {
  std::string name;
  DType dtype = DType::fp32;
  std::vector<std::int64_t> sizes;
  Fill fill;
  int updates = -1;       // of an output: the input of the same name, whose values it holds before a call
  bool scratch = false;   // of an output: the kernel's own memory, which nobody compares
  double terms = 1;       // of an output: summed up for one element
  bool constant = false;  // of an input: the same in every call until all are drawn anew

  bool made() const { return fill.kind == Fill::Kind::python; }
  std::size_t elements() const;
  std::size_t bytes() const { return elements() * bytes_of(dtype); }
};

struct Problem {
  std::string shape;  // its name
  Numbers numbers;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // those that are compared, then scratch
  double flops = 0;             // 0: not known
  double bytes = 0;
  double weight = 1;  // its shape's

  std::size_t compared() const;  // how many outputs are no scratch
  bool has_made() const;         // an input that a function makes
  bool has_sets() const;         // one that it makes for each call
};

// Throws Error when a size is missing, not whole or not positive.
Problem make_problem(const Operator& op, const Shape& shape);

// "B=1 H=8 S=128": the sizes that the shape itself gives.
std::string describe(const Shape& shape);

}  // namespace dent

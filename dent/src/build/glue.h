// SPDX-License-Identifier: MIT
// Generates the source of an entry that dent can call from the declaration of any C or C++ function, so that
// the kernel's source stays unchanged.
//
//   entry = "void softmax_forward(float* out, const float* inp, int N, int C)"
//
// Parameters are matched by name: tensors as pointers, sizes and parameters by value, and `stream`. A
// __global__ function is launched according to [kernel.launch].
//
//   setup = "float* pack(const float* weights, int N, int C)"
//
// is called with constant inputs. Its result becomes the entry's parameter `setup`, and its own parameter
// `setup` in the next call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "build/declaration.h"
#include "operators/problem.h"
#include "project/launch_rule.h"

namespace dent {

inline constexpr const char* kGlueEntry = "dent_generated_entry";
inline constexpr const char* kGlueSetup = "dent_generated_setup";

struct GlueRequest {
  Declaration function;
  bool cuda = false;
  LaunchRule launch{};                  // of a __global__ function
  std::vector<std::string> macros{};    // defined by the build; a launch may use them
  std::vector<std::string> includes{};  // sources that are compiled together with the entry
  bool included = false;                // whether one of them declares the function
  bool c_linkage = false;               // for functions whose declarations lack extern "C"
  std::string library{};  // library to load the functions from, by C name; empty: they are linked
  std::optional<Declaration> setup{};
  bool setup_included = false;
};

// Throws Error naming a parameter that is neither a tensor nor a number of the operator.
std::string glue_source(const GlueRequest& request, const Operator& op, const Shape& shape);

}  // namespace dent

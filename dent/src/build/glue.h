// SPDX-License-Identifier: MIT
// Lets a kernel stay as it is: from the declaration of any C or C++ function, the source of an entry that
// dent can call.
//
//   entry = "void softmax_forward(float* out, const float* inp, int N, int C)"
//
// Each parameter is matched by its name: tensors by pointer, sizes and parameters by value, `stream` by
// itself. A __global__ function is launched as [kernel.launch] says.
//
//   setup = "float* pack(const float* weights, int N, int C)"
//
// is called with constant inputs. What it returns is the parameter `setup` of the entry, and its own when it
// is called again.
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
  std::vector<std::string> macros{};    // that the build defines: a launch may name them
  std::vector<std::string> includes{};  // sources that are compiled with the entry
  bool included = false;                // one of them declares the function
  bool c_linkage = false;               // of the functions, even if their declarations do not say so
  std::string library{};  // where they are loaded from, by their C names; empty: they are linked
  std::optional<Declaration> setup{};
  bool setup_included = false;
};

// Throws Error naming the parameter that is neither a tensor nor a number of the operator.
std::string glue_source(const GlueRequest& request, const Operator& op, const Shape& shape);

}  // namespace dent

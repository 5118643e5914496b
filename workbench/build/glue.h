// SPDX-License-Identifier: MIT
// Lets a kernel stay as it is: from the declaration of any C++ function, the source of an entry that dent can
// call.
//
//   entry = "void softmax_forward(float* out, const float* inp, int N, int C)"
//
// Each parameter is matched by its name: tensors by pointer, sizes and parameters by value, `stream` by
// itself. A __global__ function is launched as [kernel.launch] says.
#pragma once

#include <string>

#include "operators/problem.h"
#include "project/launch_rule.h"

namespace dent {

// True for a declaration, false for a plain name.
bool is_declaration(const std::string& entry);

inline constexpr const char* kGlueEntry = "dent_generated_entry";

// Throws Error naming the parameter that is neither a tensor nor a number of the operator.
std::string glue_source(const std::string& declaration, const Operator& op, const Shape& shape, bool cuda,
                        const LaunchRule& launch = {});

// Whether that source defines the declared function as a __global__ one.
bool is_kernel_in(const std::string& source, const std::string& declaration);

}  // namespace dent

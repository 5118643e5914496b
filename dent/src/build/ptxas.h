// SPDX-License-Identifier: MIT
// What ptxas -v says about each kernel: registers, shared memory, stack, spills.
#pragma once

#include <string>
#include <vector>

#include "records/build.h"

namespace dent {

// What a person calls a symbol; the symbol itself where it is no C++ name.
std::string demangled(const std::string& symbol);

std::vector<KernelResources> parse_ptxas(const std::string& compiler_output);

// "" or what exceeds the limits that every GPU from compute capability 8.0 on has.
std::string beyond_limits(const std::vector<KernelResources>& kernels);

}  // namespace dent

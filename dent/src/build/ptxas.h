// SPDX-License-Identifier: MIT
// Reads ptxas -v: registers, shared memory, stack and spills of each kernel.
#pragma once

#include <string>
#include <vector>

#include "records/build.h"

namespace dent {

// The demangled name of a symbol, or the symbol itself if it is not a C++ name.
std::string demangled(const std::string& symbol);

std::vector<KernelResources> parse_ptxas(const std::string& compiler_output);

// Which kernel exceeds limits of every GPU since compute capability 8.0, or "".
std::string beyond_limits(const std::vector<KernelResources>& kernels);

}  // namespace dent

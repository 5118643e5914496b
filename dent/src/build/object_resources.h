// SPDX-License-Identifier: MIT
// What the kernels of a compiled file take: registers, static shared memory, stack.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/ptxas.h"

namespace dent {

// A .cubin is read as it is; objects, libraries and programs through cuobjdump, which unpacks what is inside.
// Throws Error.
std::vector<KernelResources> object_resources(const std::filesystem::path& file);

// The two ways, for their tests.
std::vector<KernelResources> cubin_resources(const std::string& bytes);
std::vector<KernelResources> parse_resource_usage(const std::string& cuobjdump_output);

// Of several, the one whose name contains `part` and whose machine code runs on `arch` (89: sm_89, sm_86,
// sm_80), of the highest architecture. Throws Error with the names there are.
KernelResources choose_kernel(const std::vector<KernelResources>& kernels, const std::string& part, int arch);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Resources of the kernels in a compiled file: registers, static shared memory, stack.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/ptxas.h"

namespace dent {

// Reads a .cubin directly; objects, libraries and programs through cuobjdump, which extracts their contents.
// Throws Error if that fails.
std::vector<KernelResources> object_resources(const std::filesystem::path& file);

// The two ways of reading, separate for tests.
std::vector<KernelResources> cubin_resources(const std::string& bytes);
std::vector<KernelResources> parse_resource_usage(const std::string& cuobjdump_output);

// The kernel whose name contains `part` and whose machine code runs on `arch` (89: sm_89, sm_86, sm_80); of
// several architectures the highest. Throws Error listing the kernels otherwise.
KernelResources choose_kernel(const std::vector<KernelResources>& kernels, const std::string& part, int arch);

}  // namespace dent

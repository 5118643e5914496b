// SPDX-License-Identifier: MIT
// Reads a compiler's cache after it has compiled a function that was called. Only the files are read; the
// kernel's process is not asked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "records/build.h"

namespace dent {

// All compiled kernels in the folder, by name, from cubins and Triton's metadata. A kernel that was compiled
// for several arguments appears once for each different result.
std::vector<KernelResources> jit_resources(const std::filesystem::path& folder);

// SHA-256 over names and contents of all machine code in the folder; "" if there is none.
std::string jit_hash(const std::filesystem::path& folder);

}  // namespace dent

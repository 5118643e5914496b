// SPDX-License-Identifier: MIT
// What a compiler that works when a function is called has left in its cache. Read from the files alone: a
// kernel's own process is not asked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "records/build.h"

namespace dent {

// Of every compiled kernel in the folder, by name: cubins, and beside those of Triton its metadata. The same
// kernel compiled for several arguments stands there once for each that differs.
std::vector<KernelResources> jit_resources(const std::filesystem::path& folder);

// SHA-256 over names and contents of all machine code in the folder; "" where there is none.
std::string jit_hash(const std::filesystem::path& folder);

}  // namespace dent

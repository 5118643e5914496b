// SPDX-License-Identifier: MIT
// What a compiler or the loader said, in words for someone who has not written it, and what to do about it.
#pragma once

#include <filesystem>
#include <string>

#include "project/project.h"

namespace dent {

struct Remedy {
  std::string problem;  // one line
  std::string next{};   // may be empty: read the compiler's whole output
};

// `otherwise`: the problem where the output names none. `folder`: that its paths are relative to.
Remedy read_compiler_output(const std::string& output, const std::string& otherwise,
                            const std::filesystem::path& folder);

// Why a library that was built can't be loaded, from what a worker was told. No names as linkers write them.
Remedy read_load_failure(const std::string& message, const Kernel& kernel);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Translates errors of compilers and the loader into a problem and what to do about it.
#pragma once

#include <filesystem>
#include <string>

#include "project/project.h"

namespace dent {

struct Remedy {
  std::string problem;  // one line
  std::string next{};   // empty: read the compiler's whole output
};

// `otherwise`: the problem, if the output names none. `folder`: base of relative paths in the output.
Remedy read_compiler_output(const std::string& output, const std::string& otherwise,
                            const std::filesystem::path& folder);

// Why a built library can't be loaded, from the worker's error. Symbols are demangled.
Remedy read_load_failure(const std::string& message, const Kernel& kernel);

}  // namespace dent

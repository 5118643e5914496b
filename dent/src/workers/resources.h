// SPDX-License-Identifier: MIT
// Files that belong to dent, found relative to its program, in a build folder or installed.
#pragma once

#include <filesystem>
#include <string>

namespace dent {

struct Resources {
  std::filesystem::path native_worker;  // dent-worker
  std::filesystem::path oracle;         // dent-oracle
  std::filesystem::path python_worker;  // dent_worker.py
  std::filesystem::path include;        // the folder with dent/kernel.h
  std::filesystem::path diagnose;       // the folder with the decision trees
  std::filesystem::path patterns;       // the folder with the patterns
};

Resources find_resources();  // throws Error naming a missing file

// The Python that runs kernels: the manifest's, DENT_PYTHON, .venv in the project or a parent folder, or
// python3.
std::string find_python(const std::filesystem::path& project, const std::string& chosen);

}  // namespace dent

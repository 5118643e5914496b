// SPDX-License-Identifier: MIT
// The files that come with dent, found from where its own program lies: in a build folder or installed.
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

Resources find_resources();  // throws Error naming what is missing

// The Python to run kernels with: the manifest's, DENT_PYTHON, .venv in the project or above it, python3.
std::string find_python(const std::filesystem::path& project, const std::string& chosen);

}  // namespace dent

// SPDX-License-Identifier: MIT
// The compilers of this machine and how dent calls them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dent {

struct Toolchain {
  std::vector<std::string> compile;    // the command up to a kernel's own flags
  std::vector<std::string> compile_c;  // the same for a file in C
  std::vector<std::string> link;
  std::string version;  // first line of --version
  std::vector<std::pair<std::string, std::string>> environment;
};

std::string cxx_compiler();   // CXX, or g++
std::string nvcc_compiler();  // nvcc in PATH, CUDA_HOME or /usr/local/cuda; "" when there is none
std::string version_of(
    const std::string& program);  // first line of its --version that names a version; "" if it can't run

// Throws Error (environment) when there is no such compiler.
Toolchain toolchain(bool cuda, bool architecture_is_given = false);

// "sm_90a" for the GPU of this machine, "sm_80" without one.
std::string gpu_architecture();

}  // namespace dent

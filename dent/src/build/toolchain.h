// SPDX-License-Identifier: MIT
// The compilers of this machine, and their command lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dent {

struct Toolchain {
  std::vector<std::string> compile;    // the command before the kernel's own flags
  std::vector<std::string> compile_c;  // the same command for C files
  std::vector<std::string> link;
  std::string version;  // first line of --version
  std::vector<std::pair<std::string, std::string>> environment;
};

std::string cxx_compiler();   // CXX, or g++
std::string nvcc_compiler();  // in PATH, CUDA_HOME or /usr/local/cuda; "" if there is none
std::string version_of(
    const std::string& program);  // the line of --version with the version; "" if it can't run

// Throws Error (environment) if the compiler is missing.
Toolchain toolchain(bool cuda, bool architecture_is_given = false);

// "sm_90a" for a GPU of compute capability 9.0 in this machine; "sm_80" without a GPU.
std::string gpu_architecture();

}  // namespace dent

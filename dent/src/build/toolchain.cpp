// SPDX-License-Identifier: MIT
#include "build/toolchain.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "system/capture.h"

namespace dent {
namespace {

bool runnable(const std::string& file) { return access(file.c_str(), X_OK) == 0; }

// C files use the same compiler with -xc.
std::vector<std::string> compiler_of_c() { return {cxx_compiler(), "-xc", "-std=gnu17", "-O3", "-fPIC"}; }

}  // namespace

std::string cxx_compiler() {
  const char* chosen = std::getenv("CXX");
  return chosen != nullptr && *chosen != '\0' ? chosen : "g++";
}

std::string nvcc_compiler() {
  std::string folders = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(name)) folders += std::string(":") + home + "/bin";
  }
  std::istringstream list(folders + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (runnable(folder + "/nvcc")) return folder + "/nvcc";
  }
  return {};
}

std::string version_of(const std::string& program) {
  const auto text = capture({program, "--version"}, 5);
  if (!text) return {};
  std::istringstream lines(*text);
  std::string first;
  std::getline(lines, first);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("release") != std::string::npos) return line;  // nvcc prints it on the fourth line
  }
  return first;
}

std::string gpu_architecture() {
  const auto answer = capture({"nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"}, 5);
  if (!answer || answer->size() < 3) return "sm_80";
  std::string digits;
  for (const char c : answer->substr(0, answer->find('\n'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (digits.empty()) return "sm_80";
  return "sm_" + digits + (digits == "90" ? "a" : "");
}

Toolchain toolchain(bool cuda, bool architecture_is_given) {
  Toolchain tools;
  if (!cuda) {
    const std::string compiler = cxx_compiler();
    tools.version = version_of(compiler);
    if (tools.version.empty()) {
      throw Error(ErrorCode::environment, "no C++ compiler: " + compiler + " can't be run",
                  "install g++, or set CXX");
    }
    tools.compile = {compiler, "-std=c++20", "-O3", "-fPIC"};
    tools.compile_c = compiler_of_c();
    tools.link = {compiler, "-shared"};
    return tools;
  }
  const std::string nvcc = nvcc_compiler();
  if (nvcc.empty()) {
    throw Error(ErrorCode::environment,
                "no CUDA compiler: nvcc is neither in PATH nor in /usr/local/cuda/bin",
                "install the CUDA toolkit, or set CUDA_HOME");
  }
  tools.version = version_of(nvcc);
  tools.compile = {nvcc, "-std=c++20", "-O3", "-Xcompiler=-fPIC", "-Xptxas=-v", "-lineinfo"};
  tools.compile_c = compiler_of_c();
  tools.link = {nvcc, "-shared"};
  if (!architecture_is_given) {
    const std::string architecture = "-arch=" + gpu_architecture();
    tools.compile.push_back(architecture);
    tools.link.push_back(architecture);
  }
  return tools;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Builds a shared library from a kernel's sources, and identifies both by hashes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "project/project.h"
#include "system/process.h"

namespace dent {

struct Built {
  bool ok = false;
  std::string problem;  // one line, if not ok
  std::string next;     // what to do about it; may be empty
  Ending::Kind how = Ending::Kind::exited;
  std::filesystem::path library;
  std::string entry;                // name of the symbol
  std::string setup;                // name of the symbol; empty: none
  std::string source_hash;          // of all input files and the commands, independent of folders
  std::string binary_hash;          // of the library
  std::vector<std::string> inputs;  // input files
  std::vector<std::string> places;  // folders that hashes ignore: the build's, the kernel's, the project's
  std::string log;                  // the compiler's output
  double seconds = 0;
  bool reused = false;  // nothing had changed
};

struct BuildOptions {
  std::filesystem::path folder;          // for results: .dent/build
  std::filesystem::path include;         // contains dent/kernel.h
  bool clean = false;                    // build even if nothing changed
  std::vector<std::string> extra_flags;  // such as a sanitizer's
  Cell cell{Sandbox::off};               // sandbox of compilers and build commands
};

// For compiled kernels only. An error of the compiler is a result; a missing compiler throws Error.
Built build_kernel(const Project& project, const Kernel& kernel, const BuildOptions& options);

// What has changed since the library was built; "" if nothing.
std::string staleness(const Built& built);

}  // namespace dent

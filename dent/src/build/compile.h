// SPDX-License-Identifier: MIT
// From a kernel's sources to a shared library whose origin is known by hash.
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
  std::string problem;  // one line, when not ok
  std::string next;     // what to do about it; may be empty
  Ending::Kind how = Ending::Kind::exited;
  std::filesystem::path library;
  std::string entry;                // symbol
  std::string setup;                // symbol; empty: none
  std::string source_hash;          // of every file that went in, and of the commands, wherever they lie
  std::string binary_hash;          // of the library
  std::vector<std::string> inputs;  // the files
  std::vector<std::string> places;  // folders that are in no hash: of what is built, the kernel, the project
  std::string log;                  // what the compiler said
  double seconds = 0;
  bool reused = false;  // nothing had changed
};

struct BuildOptions {
  std::filesystem::path folder;          // where results are kept: .dent/build
  std::filesystem::path include;         // with dent/kernel.h
  bool clean = false;                    // build even if nothing has changed
  std::vector<std::string> extra_flags;  // for example those of a sanitizer
  Cell cell{Sandbox::off};               // that compilers and build commands run in
};

// Not for Python kernels. A failure of the compiler is a result; a missing compiler is an Error.
Built build_kernel(const Project& project, const Kernel& kernel, const BuildOptions& options);

// "" while library and sources are those that were built; else what has changed.
std::string staleness(const Built& built);

}  // namespace dent

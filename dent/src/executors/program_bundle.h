// SPDX-License-Identifier: MIT
// dent itself, to be brought to a machine that has none: its programs, the files that they need, and the
// libraries that no system has from the start. They find each other by their own place.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace dent {

struct ProgramBundle {
  std::string id;  // of its files' sizes and dates and the instruction set: a folder of that name holds it
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> files;  // here; its name in the bundle

  // As a tar archive, in that file.
  void write(const std::filesystem::path& archive) const;
};

ProgramBundle program_bundle();

// The source tree that this dent was built from, where it is still there; empty: it is not.
std::filesystem::path own_source();

// "aarch64": of this machine.
std::string instruction_set();

}  // namespace dent

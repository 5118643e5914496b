// SPDX-License-Identifier: MIT
// Bubblewrap (bwrap), which makes a view of the system from namespaces and mounts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cell/cell.h"

namespace dent {

struct Bubblewrap {
  std::filesystem::path program;
  std::string version;
  std::string why_not;  // "" where it works here
  std::string remedy;
};

// The program that DENT_BWRAP names, or bwrap in PATH: tried once, with the walls that a kernel gets.
const Bubblewrap& bubblewrap();
// The same for a program that is named; "" looks in PATH.
Bubblewrap try_bubblewrap(const std::string& program);

// What goes in front of a command that is to run in `directory`.
std::vector<std::string> bubblewrap_prefix(const Bubblewrap& tool, const CellView& view,
                                           const std::filesystem::path& directory);

}  // namespace dent

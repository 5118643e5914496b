// SPDX-License-Identifier: MIT
// A Python interpreter and the folders that it runs from: a virtual environment, the installation behind it,
// and wherever else it looks for modules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

struct Interpreter {
  std::string program;                       // itself, and no script that finds it
  std::vector<std::filesystem::path> needs;  // files and folders
};

// Asks it, in a process of its own. One that can't be run is given back by the name that it was called.
Interpreter ask_interpreter(const std::string& python, const std::filesystem::path& directory);

}  // namespace dent

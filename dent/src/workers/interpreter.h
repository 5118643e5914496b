// SPDX-License-Identifier: MIT
// A Python interpreter and the folders that it needs: a virtual environment, the base installation, and other
// folders with modules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

struct Interpreter {
  std::string program;                       // the binary itself, not a wrapper script
  std::vector<std::filesystem::path> needs;  // files and folders
};

// Asks the interpreter in a separate process. If it can't be run, `program` is the given name.
Interpreter ask_interpreter(const std::string& python);

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "workers/interpreter.h"

#include <sstream>

#include "system/capture.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr double kProbeSeconds = 10;
constexpr const char* kQuestion =
    "import sys\n"
    "print(sys.executable)\n"
    "for path in [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path]: "
    "print(path)";

// bin/python of a virtual environment is a symbolic link, often to another link; the interpreter finds its
// files relative to each of them.
void add_links(Interpreter& interpreter) {
  constexpr int kMostLinks = 16;
  fs::path program = interpreter.program;
  std::error_code none;
  for (int i = 0; i < kMostLinks && fs::is_symlink(program, none); ++i) {
    program = (program.parent_path() / fs::read_symlink(program, none)).lexically_normal();
    interpreter.needs.push_back(program.parent_path().parent_path());
  }
}

}  // namespace

Interpreter ask_interpreter(const std::string& python) {
  Interpreter interpreter{python, {}};
  const auto answer =
      capture({python, "-c", kQuestion}, kProbeSeconds, "/");  // Python imports from where it stands
  if (!answer) return interpreter;
  std::istringstream lines(*answer);
  std::getline(lines, interpreter.program);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) interpreter.needs.emplace_back(line);
  }
  add_links(interpreter);
  return interpreter;
}

}  // namespace dent

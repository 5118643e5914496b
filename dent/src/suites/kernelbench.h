// SPDX-License-Identifier: MIT
// Tasks of KernelBench. A task is a Python file: class Model, get_inputs, get_init_inputs, and sizes that are
// constants of the module. A project has a copy of one.
#pragma once

#include <filesystem>
#include <vector>

namespace dent {

// The tasks of a folder in the order of their numbers; a file is its own list. Throws Error where there is
// none.
std::vector<std::filesystem::path> kernelbench_tasks(const std::filesystem::path& where);

}  // namespace dent

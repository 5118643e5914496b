// SPDX-License-Identifier: MIT
// Whether what a reader of tasks gave may become a project.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "suites/reader.h"

namespace dent {

// Why it is no project of one folder; "": it is. A task is a program that ran in the reader's process: all
// that comes from there may be the task's own words. `folder`: where it would be written; `named`: folders
// that the user has named, which its manifest may show to the code.
std::string fault_of(const ImportedTask& task, const std::filesystem::path& folder,
                     const std::vector<std::filesystem::path>& named);

}  // namespace dent

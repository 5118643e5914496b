// SPDX-License-Identifier: MIT
// What a project's code sees in its sandbox: the project and its repository, except git's and dent's folders,
// and folders that the manifest and the environment name.
#pragma once

#include "cell/cell.h"
#include "project/project.h"

namespace dent {

CellView surroundings_of(const Project& project);
// Additional needs of one kernel: its own folder, and those of its headers and libraries.
CellView surroundings_of(const Project& project, const Kernel& kernel);
// The compilers of this machine.
CellView compilers_view();

// Root of the git repository that contains a folder; empty if there is none, or if it is the user's home.
std::filesystem::path repository_top(const std::filesystem::path& folder);

}  // namespace dent

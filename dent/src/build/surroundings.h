// SPDX-License-Identifier: MIT
// What a project's code finds in its cell: the project and its repository without git's folder and dent's
// own, and the folders that its manifest and the environment name.
#pragma once

#include "cell/cell.h"
#include "project/project.h"

namespace dent {

CellView surroundings_of(const Project& project);
// What one kernel needs besides: its own folder, and those of its headers and libraries.
CellView surroundings_of(const Project& project, const Kernel& kernel);
// The compilers of this machine, wherever they lie.
CellView compilers_view();

// The top of the git repository that a folder is in; empty where there is none, or where it is the user's
// home.
std::filesystem::path repository_top(const std::filesystem::path& folder);

}  // namespace dent

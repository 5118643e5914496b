// SPDX-License-Identifier: MIT
// The files that a project needs elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

struct ProjectTree {
  std::filesystem::path root;      // the top of the repository; without one: the project
  std::filesystem::path prefix;    // the project below it
  std::vector<std::string> files;  // below the root, sorted by their bytes

  std::string list() const;  // with a zero byte behind each
};

// Tracked and untracked files of the repository, but not what it ignores; without git, or where the project
// itself is ignored, everything in its folder but .git and .dent.
ProjectTree tree_of(const std::filesystem::path& project, const std::string& manifest);

}  // namespace dent

// SPDX-License-Identifier: MIT
// The files that a project needs elsewhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dent {

struct ProjectTree {
  std::filesystem::path root;      // the top of the repository; without one: the project
  std::filesystem::path prefix;    // the project below it
  std::vector<std::string> files;  // below the root, sorted by their bytes
  std::string identity;            // a tree of the same identity may take this one's place elsewhere

  std::string list() const;  // with a zero byte behind each
};

// Tracked and untracked files of the repository, but not what it ignores; without git, or where the project
// itself is ignored, everything in its folder but .git and .dent. Of a tree that was laid out, everything.
ProjectTree tree_of(const std::filesystem::path& project, const std::string& manifest);

// A tree that dent has laid out for its jobs has this file at its top, which says its identity, and the files
// that single kernels have in the place of its own in folders below kChangesFolder.
inline constexpr const char* kTreeMarker = ".dent-tree";
inline constexpr const char* kChangesFolder = ".dent-changes";
// Its top; nothing where the project is in none.
std::optional<std::filesystem::path> laid_out_root(const std::filesystem::path& project);
// Everything below `from` but repositories, dent's own folders and changes.
void copy_plain_tree(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace dent

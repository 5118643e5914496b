// SPDX-License-Identifier: MIT
// The manifest of a project by another author: it may say what to compute, never what that may see. Imported
// tasks, bundles to verify, suites, and manifests that an agent could have changed are read through this.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "project/project.h"

namespace dent {

// What another author's manifest may say under a key.
enum class Wall {
  open,     // anything that the key takes
  inside,   // paths in the project
  flags,    // options of a compiler that name no file and load nothing
  visible,  // paths that the user has named
  closed,   // nothing: the key is refused
};

struct WallRule {
  std::string_view key;  // "kernel.sources"; * stands for one name, and at the end for everything below
  Wall wall;
  std::string_view why;  // it is not open
};

// The first rule that fits a key holds; a key without one is refused.
const std::vector<WallRule>& manifest_walls();
const WallRule* wall_of(const std::vector<std::string>& key);

// What the user vouches for, of a manifest by another author.
struct Vouched {
  std::filesystem::path root;                    // paths may lead anywhere in it; it holds the project
  std::vector<std::filesystem::path> folders{};  // that code may see: --visible
  std::optional<std::string> manifest{};         // that the user has seen: each of its values holds
};

// Throws Error that names the first key which is refused. `directory`: the project's folder.
void check_untrusted_manifest(std::string_view text, const std::filesystem::path& directory,
                              const Vouched& vouched);

// read_project for such a manifest. Unless the user has seen it, a cell is required.
Project read_untrusted_project(const std::filesystem::path& directory, const Vouched& vouched);

// Variables by which every dent that is started with them reads all manifests as another author's, and what
// those of this process say: read_project obeys them.
std::vector<std::pair<std::string, std::string>> untrusted_environment(
    const std::filesystem::path& root, const std::vector<std::filesystem::path>& folders,
    const std::filesystem::path& manifest = {});
std::optional<Vouched> vouched_by_environment();
// Whether this process reads manifests that the user has not seen. It then starts no program outside of the
// cell that lies in their folder, or that a file there could steer: no Python of a .venv there, no git.
bool reads_untrusted();
// From now on, with all that it starts.
void read_all_as_untrusted(const std::filesystem::path& root,
                           const std::vector<std::filesystem::path>& folders = {});

}  // namespace dent

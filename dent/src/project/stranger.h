// SPDX-License-Identifier: MIT
// The manifest of a project by another author: it may say what to compute, never what that may see. An
// imported task and a bundle to verify are read through this.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "project/project.h"

namespace dent {

// What a stranger's manifest may say under a key.
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
const std::vector<WallRule>& stranger_rules();

// Throws Error that names the first key which is refused. `directory`: the project's folder; paths may lead
// anywhere in `root`, which holds it. `named`: folders that the user has named.
void check_strangers_manifest(std::string_view text, const std::filesystem::path& directory,
                              const std::filesystem::path& root,
                              const std::vector<std::filesystem::path>& named = {});

// read_project for such a manifest. A cell is required.
Project read_strangers_project(const std::filesystem::path& directory, const std::filesystem::path& root);

}  // namespace dent

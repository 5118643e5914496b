// SPDX-License-Identifier: MIT
// dent.toml -> Project. dent/docs/dent.md lists every key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "project/project.h"

namespace dent {

inline constexpr int kManifestVersion = 1;
inline constexpr const char* kManifestName = "dent.toml";

// `where`: a manifest, or a folder with one. Throws Error with the line, the key and what is accepted there.
// Where the environment says so it is read as another author's: project/untrusted.h.
Project read_project(const std::filesystem::path& where);
Project parse_project(std::string_view toml, const std::filesystem::path& directory);
void take_tuned(Project& project);  // what dent tune or a loop has left beside the manifest

// Everything that holds, defaults included, as JSON.
std::string effective_config(const Project& project, int indent = 1);
// Whether a session that recorded this config may go on with the project as it is. Budget and rates may have
// changed: raising them is how a session goes on that had spent them.
bool same_project(const std::string& recorded_config, const Project& project);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Files that exist completely or not at all, even if the program or the machine stops at any moment.
#pragma once

#include <filesystem>
#include <string_view>

namespace dent {

// Writes a temporary file next to `path`, syncs it, renames it and syncs the folder. On a full disk or a
// read-only folder, throws Error (environment) and leaves `path` unchanged.
void write_durably(const std::filesystem::path& path, std::string_view content);

// Creates one folder and syncs its entry to disk. Returns false if the name was already taken.
bool create_folder_durably(const std::filesystem::path& folder);

// Makes files that were created or renamed in `folder` survive a power failure.
void sync_folder(const std::filesystem::path& folder);

}  // namespace dent

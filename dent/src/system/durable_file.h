// SPDX-License-Identifier: MIT
// Files that are either there as a whole or not at all, whenever the program or the machine stops.
#pragma once

#include <filesystem>
#include <string_view>

namespace dent {

// Writes to a file beside it, syncs, renames and syncs the folder. Throws Error (environment) on a full disk
// or a read-only folder; `path` then is as it was.
void write_durably(const std::filesystem::path& path, std::string_view content);

// Creates one folder; its entry is on disk afterwards. False when there was something of that name already.
bool create_folder_durably(const std::filesystem::path& folder);

// Makes what was created or renamed in `folder` survive a power cut.
void sync_folder(const std::filesystem::path& folder);

}  // namespace dent

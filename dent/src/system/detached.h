// SPDX-License-Identifier: MIT
// Starts a process that outlives this one: in its own session, without a parent that waits for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

// Appends stdout and stderr to `log`; stdin is empty. `keep` is a descriptor that becomes the process's
// descriptor 3, so a lock on it lives as long as the process; the process inherits no other descriptor.
// Throws Error if the process can't be started.
void start_detached(const std::vector<std::string>& argv, const std::filesystem::path& directory,
                    const std::filesystem::path& log, int keep = -1);

}  // namespace dent

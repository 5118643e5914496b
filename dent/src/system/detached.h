// SPDX-License-Identifier: MIT
// A process that lives on without us: in a session of its own, with no parent that waits for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dent {

// `log` gets its stdout and stderr, at the end; its stdin is empty. `keep`: a descriptor that becomes its 3,
// and a lock that it holds lives as long as it does. It gets no other. Throws Error when there can't be a
// process.
void start_detached(const std::vector<std::string>& argv, const std::filesystem::path& directory,
                    const std::filesystem::path& log, int keep = -1);

}  // namespace dent

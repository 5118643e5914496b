// SPDX-License-Identifier: MIT
// Jobs that a loop left running on this machine when it was killed: they would disturb what is measured next.
#pragma once

#include <filesystem>

namespace dent {

// Throws Error (busy) that names the first one and how to end it. The caller holds the project's lock, so no
// loop of the project is at work. `dent_folder`: <project>/.dent.
void refuse_beside_left_jobs(const std::filesystem::path& dent_folder);

}  // namespace dent

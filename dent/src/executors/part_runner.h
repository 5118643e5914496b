// SPDX-License-Identifier: MIT
// Does the part of a loop that a job has, with a tree for each kernel: the loop's own, with the files that
// the kernel has in the place of its own.
#pragma once

#include <filesystem>

#include "executors/job.h"
#include "session/conclude.h"
#include "session/observer.h"

namespace dent {

// `project`: as it lies in the loop's tree. Success means that the part is done, not that anybody has passed:
// that is in its records.
Conclusion do_part(const Job& job, const Project& project, const std::filesystem::path& folder,
                   Observer& observer);

}  // namespace dent

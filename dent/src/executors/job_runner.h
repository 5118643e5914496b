// SPDX-License-Identifier: MIT
// Does a job: where it was interrupted, from there.
#pragma once

#include <filesystem>

#include "executors/job.h"
#include "session/conclude.h"
#include "session/observer.h"

namespace dent {

// The caller holds the job's lock. Takes the project's, but for parts of a loop.
Conclusion do_job(const std::filesystem::path& folder, Observer& observer);

}  // namespace dent

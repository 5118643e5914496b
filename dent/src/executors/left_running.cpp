// SPDX-License-Identifier: MIT
#include "executors/left_running.h"

#include <fmt/format.h>

#include "base/error.h"
#include "executors/job_folder.h"
#include "executors/job_table.h"

namespace dent {

void refuse_beside_left_jobs(const std::filesystem::path& dent_folder) {
  for (const SentJob& sent : JobTable(dent_folder).list()) {
    const Job& job = sent.job();
    if (!job.part || status_of(sent.folder()).state != JobState::running) continue;
    throw Error(ErrorCode::busy,
                fmt::format("job {} of the interrupted loop {} still runs on this machine, and would disturb "
                            "the measurement",
                            job.id.substr(0, 8), job.session),
                fmt::format("go on with the loop: dent resume {}; or end the job: dent cancel {}",
                            job.session, job.id.substr(0, 8)));
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "executors/job_runner.h"

#include <fmt/format.h>

#include "base/error.h"
#include "executors/part_runner.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "session/plan.h"
#include "session/run.h"
#include "system/process.h"

namespace dent {
namespace {

constexpr double kSetupSeconds = 3600;

void set_up(const Job& job, const Project& project, const std::filesystem::path& folder) {
  if (job.setup.empty()) return;
  const Finished finished = run({.argv = {"/bin/sh", "-c", job.setup},
                                 .directory = project.directory,
                                 .log = folder / "artifacts" / "setup.log"},
                                kSetupSeconds);
  if (finished.ending.clean()) return;
  throw Error(ErrorCode::environment,
              fmt::format("setup {}: {}\n{}", describe(finished.ending), job.setup, finished.output),
              "correct `setup` of the executor; it runs in the project's folder there, by sh");
}

}  // namespace

Conclusion do_job(const std::filesystem::path& folder, Observer& observer) {
  const Job job = read_job(folder);
  Project project = read_project(folder / job.project);  // an absolute path stays as it is
  if (job.cell) project.sandbox = Sandbox::required;
  if (job.usd_per_hour > 0) project.rates.device_usd_per_hour = job.usd_per_hour;
  const SessionFolder session_folder{job.id, folder};
  std::filesystem::create_directories(session_folder.artifacts());
  if (job.part) {
    set_up(job, project, folder);
    return do_part(job, project, folder, observer);
  }
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  set_up(job, project, folder);
  const SessionRequest request{.command = job.command,
                               .plan = make_plan(project, {job.gates, job.shapes, job.options}),
                               .gates = job.gates,
                               .shapes = job.shapes,
                               .git = job.git};
  return run_plan(project, store, session_folder, request, observer);
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "commits/measure_commit.h"

#include <fmt/format.h>

#include "session/plan.h"
#include "session/run.h"

namespace dent {

MeasuredCommit measure_commit(const Project& project, SessionStore& store, const Repository& repository,
                              const CommittedProject& reference, const CommitQuestion& question,
                              Observer& observer) {
  const CommittedProject there(repository, store.folder() / "worktrees" / "commit", question.commit);
  Project asked = against(project, reference.kernel(), fmt::format("{:.12}", question.reference));
  asked.kernel = there.kernel();
  asked.performance.seconds = question.seconds;
  const auto gates = gates_of_run({}, {"profile"});
  const SessionRequest request{question.command, make_plan(asked, {gates, question.shapes, {}}), gates,
                               question.shapes};
  const SessionFolder folder = store.create();
  const Conclusion end = run_plan(asked, store, folder, request, observer);
  return {end, load_session(folder)};
}

}  // namespace dent

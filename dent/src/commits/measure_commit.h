// SPDX-License-Identifier: MIT
// One commit's kernel measured against another's, in a session of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commits/committed_project.h"
#include "ledger/session_store.h"
#include "report/session_view.h"
#include "session/conclude.h"
#include "session/observer.h"

namespace dent {

struct CommitQuestion {
  std::string command;  // that asks
  std::string commit;
  std::string reference;              // the other commit, whose kernel is the baseline
  std::vector<std::string> shapes{};  // none: all
  double seconds = 0;                 // for each shape
};

struct MeasuredCommit {
  Conclusion end;
  SessionView session;
};

// The manifest of `project` says what is computed and on which shapes. The commit lies in a worktree for as
// long as it takes. Throws Error where it has no such project.
MeasuredCommit measure_commit(const Project& project, SessionStore& store, const Repository& repository,
                              const CommittedProject& reference, const CommitQuestion& question,
                              Observer& observer);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Measures one commit's kernel against another's, in its own session.
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
  std::string command;  // the command that the user gave
  std::string commit;
  std::string reference;              // commit whose kernel is the baseline
  std::vector<std::string> shapes{};  // empty: all
  double seconds = 0;                 // per shape
};

struct MeasuredCommit {
  Conclusion end;
  SessionView session;
};

// The manifest of `project` defines operator and shapes. The commit is checked out in a worktree meanwhile.
// Throws Error if it does not contain the project.
MeasuredCommit measure_commit(const Project& project, SessionStore& store, const Repository& repository,
                              const CommittedProject& reference, const CommitQuestion& question,
                              Observer& observer);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Sees a job through from here: sends it, starts it, takes its records into a session as they come, and
// brings back what it left. Killed at any moment and called again, it finds the job and goes on.
#pragma once

#include <functional>

#include "executors/executor.h"
#include "session/session.h"

namespace dent {

struct ConductRules {
  double reconnect_seconds = 600;  // without a connection, before it is given up
  double longest_pause_s = 15;     // between two attempts
  // Where the machine can be started: brings it up, and says whether it had to. Without it an interruption is
  // the end.
  std::function<bool()> bring_up{};
};

// Files there and work begun, unless that was done before. Throws Unreachable when it can't be reached.
void send(Executor& executor, SentJob& sent);

// Until the job has ended; its last word. `plan`: for who watches. Throws Unreachable when it is given up:
// the job goes on, and this can be called again.
JobStatus conduct(Executor& executor, SentJob& sent, Session& session, const std::vector<Step>& plan,
                  const ConductRules& rules = {});

}  // namespace dent

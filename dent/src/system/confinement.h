// SPDX-License-Identifier: MIT
// Keeps a process, and all that it starts, from acting on other processes: no signals, no change of priority,
// affinity or limits, no access to their memory. It can't set the machine's clock either.
//
// A seccomp filter allows system calls that act on the caller itself. A call that names another process waits
// for a supervisor in dent: if that process was started by the caller's family, the call continues; if not,
// it is refused and recorded. The filter is installed before exec, so all code of a candidate runs under it,
// and it can't be removed. A confined process of root also gives up root's rights over other processes.
//
// In a sandbox (cell/cell.h) a process can't name processes outside. There only the sandbox's own init
// process, which the sandbox depends on, counts as foreign.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "system/file_descriptor.h"

namespace dent {

// Confines the calling process. Called between fork and exec, so it uses only async-signal-safe calls. `self`
// is the process id that the program will see for itself; calls on that id are allowed without asking the
// supervisor. Returns the descriptor on which the supervisor listens, or -errno if the system does not
// support this.
int confine_myself(pid_t self);

// Why confine_myself() does not work on this machine, or "". Tried once, in a process of its own.
const std::string& why_not_confined();

class ConfinementSupervisor {
 public:
  // `leader` is the confined process, which leads its own session.
  ConfinementSupervisor(FileDescriptor listener, pid_t leader)
      : listener_(std::move(listener)), leader_(leader) {}

  int descriptor() const { return listener_.get(); }  // readable when a call waits for an answer

  struct Refused {
    std::string call;         // "sched_setaffinity on process 4711 (dent-worker)"
    bool of_its_own = false;  // the call would have intercepted the process's own system calls
  };
  // Answers all waiting calls. Returns the first call that was ever refused.
  const std::optional<Refused>& attend();

 private:
  FileDescriptor listener_;
  pid_t leader_;
  std::optional<Refused> refused_;
};

}  // namespace dent

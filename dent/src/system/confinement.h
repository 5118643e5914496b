// SPDX-License-Identifier: MIT
// Keeps a process, and all that it starts, from acting on processes that are not its own: no signal, no
// change of priority, affinity or limits, no look into their memory; nor may it set the machine's clock.
//
// A seccomp filter lets system calls on the caller itself pass. One that names another process waits until a
// supervisor in dent has looked at it: within the process's own family it goes on, else it is refused and
// remembered. The filter is there before exec, so no code of a candidate runs without it, and it can't be
// taken off. Where the process is root's, it also gives up the rights that root has over others.
//
// In a cell (cell/cell.h) it can name no process outside. Then only the first process of the cell, which is
// one of its walls, is not the caller's family.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "system/file_descriptor.h"

namespace dent {

// Between fork and exec, and so only with calls that are safe there: confines the calling process. `self`:
// the number by which the program will know itself, whose calls on itself need not be looked at. Returns the
// descriptor on which its supervisor listens, or -errno where the system can't do that.
int confine_myself(pid_t self);

// Whether confine_myself() works here: tried once, in a process of its own. "" or why not.
const std::string& why_not_confined();

class ConfinementSupervisor {
 public:
  // `leader`: the confined process, which leads a session of its own.
  ConfinementSupervisor(FileDescriptor listener, pid_t leader)
      : listener_(std::move(listener)), leader_(leader) {}

  int descriptor() const { return listener_.get(); }  // readable when a call waits

  struct Refused {
    std::string call;          // "sched_setaffinity on process 4711 (dent-worker)"
    bool of_its_own = false;   // it would have put itself in the way of its own system calls
  };
  // Answers every call that waits. Returns the first that was ever refused.
  const std::optional<Refused>& attend();

 private:
  FileDescriptor listener_;
  pid_t leader_;
  std::optional<Refused> refused_;
};

}  // namespace dent

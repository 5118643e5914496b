// SPDX-License-Identifier: MIT
// A slot: a place on some machine, with its share of processors and GPUs, that takes one job after the other
// from a queue and does it with `dent job`. A scheduler starts it, may end it at any moment and may start it
// again; what it was at goes back to the queue, with the records that it has.
//
//   slots/<slot>/slot.json    SlotRules
//           .../script, log   what the scheduler starts, and what that says
//           .../number        the scheduler's own for it, once that is known
//           .../run-<n>       made by its nth start: a second one of the same number does nothing
//           .../place         where it runs
//           .../left          it has ended by itself
//           .../gone          who looks after the slots has given it up: should it live, it ends
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "executors/queue.h"

namespace dent {

struct SlotRules {
  std::string program{};            // dent
  std::vector<std::string> envs{};  // NAME=value
  double idle_s = 60;               // without a job, before it ends
  double ending_s = 20;             // that a job has to end when it is told to
};
void fields(Fields& f, SlotRules& rules);

enum class SlotEnd {
  idle,         // nobody had work for it
  told_to_end,  // by SIGTERM: preempted, cancelled, its machine goes down
  out_of_time,  // by SIGUSR1: its time is nearly over
  second_run,   // of a start that is at work, or was
};

// Until it ends. SIGTERM and SIGUSR1 are its own from now on. `start`: how often the scheduler has started
// it.
SlotEnd serve_slot(const JobQueue& queue, const std::string& slot, int start);

}  // namespace dent

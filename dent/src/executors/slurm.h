// SPDX-License-Identifier: MIT
// A Slurm cluster, seen from a machine that has its programs and its shared file system. Jobs of ours wait in
// a queue there (queue.h); what Slurm is given are slots (slot.h), which take them one after the other: a
// submission costs seconds, taking a job from the queue does not. Nodes need nothing but the file system.
//
//   <workdir>/slurm-<executor>-<hash of its options>/    the queue and its slots
#pragma once

#include <memory>

#include "executors/executor.h"

namespace dent {

std::unique_ptr<Executor> slurm_executor(const ExecutorRules& rules, const Project& project);

// Options of sbatch for one slot, but for its script.
std::vector<std::string> slot_options(const ExecutorRules& rules, DeviceKind device);

}  // namespace dent

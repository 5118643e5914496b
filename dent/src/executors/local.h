// SPDX-License-Identifier: MIT
// This machine: the job's folder is the one in .dent/jobs, the tree is the project's own.
#pragma once

#include <memory>

#include "executors/executor.h"

namespace dent {

std::unique_ptr<Executor> local_executor(const ExecutorRules& rules);

}  // namespace dent

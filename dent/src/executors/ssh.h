// SPDX-License-Identifier: MIT
// Another machine, by ssh. In its work folder lie
//
//   programs/<id>/        dent, once per version
//   projects/<key>/tree/  a project's files, brought up to date before each job
//   jobs/<id>/            each job's folder
#pragma once

#include <memory>

#include "executors/executor.h"

namespace dent {

std::unique_ptr<Executor> ssh_executor(const ExecutorRules& rules, const Project& project, Say say);

}  // namespace dent

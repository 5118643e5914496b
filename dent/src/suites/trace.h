// SPDX-License-Identifier: MIT
// A session as traces of FlashInfer-Bench, which its tools read.
#pragma once

#include <string>

#include "project/project.h"
#include "report/session_view.h"

namespace dent {

// A line of JSON for each shape that was timed, or that failed: wrong numbers, a crash, a hang, a build that
// failed, a cheat. In a project of `dent import
// flashinfer` they name its definition, workloads and solution; elsewhere the operator, and axes that are
// the shape's sizes.
std::string flashinfer_traces(const SessionView& session, const Project& project);

}  // namespace dent

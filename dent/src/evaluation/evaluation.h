// SPDX-License-Identifier: MIT
// One candidate against the incumbent, as steps of a session. Knows no git: where the two kernels lie is all
// that it is told.
#pragma once

#include <string>

#include "evaluation/judge.h"
#include "session/session.h"

namespace dent {

// Both sides' kernels have names and folders of their own. Steps are called `prefix`/<trial>; those that are
// on record are read back. Times in the outcome are those of the steps.
Outcome evaluate(Session& session, Sides& sides, const EvaluationRules& rules, const std::string& prefix);

// What is on record of one, wherever it was done: the step that comes next, or the outcome.
std::variant<std::string, Outcome> evaluation_on_record(const SessionFacts& facts, const Project& project,
                                                        const EvaluationRules& rules,
                                                        const std::string& prefix);

// How a candidate is measured beside another kernel: no ratio stops it, and a busy machine gets more time.
// `share`: of the manifest's time box.
MeasureRules side_by_side(const Project& project, double alpha, double share = 1);

}  // namespace dent

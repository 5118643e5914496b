// SPDX-License-Identifier: MIT
// Compares a candidate with the incumbent, as steps of a session. Independent of git: it only gets the
// folders of both kernels.
#pragma once

#include <string>

#include "evaluation/judge.h"
#include "session/session.h"

namespace dent {

// Both kernels need their own names and folders. Steps are called `prefix`/<trial>; recorded steps are not
// repeated. Times in the outcome are those of the steps.
Outcome evaluate(Session& session, Sides& sides, const EvaluationRules& rules, const std::string& prefix);

// The state of a recorded evaluation, wherever it ran: the name of the next step, or the outcome.
std::variant<std::string, Outcome> evaluation_on_record(const SessionFacts& facts, const Project& project,
                                                        const EvaluationRules& rules,
                                                        const std::string& prefix);

// Rules for measuring a candidate against another kernel: no ratio stops the measurement, and a busy machine
// gets more time. `share`: part of the manifest's time box.
MeasureRules side_by_side(const Project& project, double alpha, double share = 1);

}  // namespace dent

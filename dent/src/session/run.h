// SPDX-License-Identifier: MIT
// dent run and every single gate: a plan from its first step, or from where the ledger ends, to a verdict.
#pragma once

#include "session/session.h"

namespace dent {

Conclusion run_plan(Session& session, const SessionRequest& request, Sides& sides);
// The same with a session in that folder and the project's kernel against its baseline. The caller holds the
// project's lock.
Conclusion run_plan(const Project& project, SessionStore& store, const SessionFolder& folder,
                    const SessionRequest& request, Observer& observer);

}  // namespace dent

// SPDX-License-Identifier: MIT
// dent run and every single gate: a plan from its first step, or from where the ledger ends, to a verdict.
#pragma once

#include "session/session.h"

namespace dent {

Conclusion run_plan(Session& session, const SessionRequest& request, Sides& sides);

}  // namespace dent

// SPDX-License-Identifier: MIT
// What a session's records amount to. A pure function: a resumed session ends as one that was never stopped.
#pragma once

#include <string>
#include <vector>

#include "ledger/facts.h"
#include "session/exit_code.h"
#include "session/plan.h"

namespace dent {

struct Conclusion {
  std::string id;
  Verdict verdict = Verdict::interrupted;
  std::string reason;
  std::string next{};
  ExitCode code = ExitCode::internal;
};

// The first failed step of the plan decides. PASS, or what the summary says, only when every planned step is
// on record and none has failed; a step without a record is INTERRUPTED.
Conclusion conclude(const std::string& id, const std::vector<Step>& plan, const SessionFacts& facts);

}  // namespace dent

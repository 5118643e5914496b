// SPDX-License-Identifier: MIT
// The winner of a loop again: built from scratch, with fresh seeds, under a memory checker, on shapes that no
// proposer has seen, and against what the loop started from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace dent {

struct Finalists {
  Kernel winner, start;  // in clean checkouts
  std::vector<Shape> held_out;
};

// As steps `prefix`/...; the failure that ended it, nothing when the winner holds.
std::optional<Failed> validate(Session& session, WorkerFactory& workers, Oracle& oracle,
                               const Finalists& finalists, const std::string& prefix);

}  // namespace dent

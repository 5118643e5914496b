// SPDX-License-Identifier: MIT
// Validates the winner of a loop: builds it from scratch, checks it with fresh seeds, under a memory checker
// and on shapes that no proposer has seen, and compares it with the loop's start.
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

// Runs steps `prefix`/...; returns the failure that ended it, or nothing if the winner passed.
std::optional<Failed> validate(Session& session, WorkerFactory& workers, Oracle& oracle,
                               const Finalists& finalists, const std::string& prefix);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Test support: the records of a session that never ran, with everything a report can show.
#pragma once

#include <string>
#include <vector>

#include "ledger/session_store.h"
#include "records/any_record.h"

namespace dent::test {

enum class Story {
  faster,       // all gates passed
  cheating,     // stopped at the performance gate
  incorrect,    // stopped at the correctness gate, with a worker's last words
  interrupted,  // killed while it was sampling
};

std::vector<Record> example_records(Story story);

// Writes them into a new session of the project.
SessionFolder example_session(SessionStore& store, Story story);

}  // namespace dent::test

// SPDX-License-Identifier: MIT
// Test support: records of an invented session that contain everything that a report can show.
#pragma once

#include <string>
#include <vector>

#include "ledger/session_store.h"
#include "records/any_record.h"

namespace dent::test {

enum class Story {
  faster,       // all gates passed
  cheating,     // stopped at the performance gate
  incorrect,    // stopped at the correctness gate, with a worker's output
  interrupted,  // killed while sampling
};

std::vector<Record> example_records(Story story);

// Writes these records into a new session of the project.
SessionFolder example_session(SessionStore& store, Story story);

}  // namespace dent::test

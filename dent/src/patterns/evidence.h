// SPDX-License-Identifier: MIT
// What became of a pattern where it was tried: from ledgers into the library.
#pragma once

#include <span>

#include "ledger/session_store.h"
#include "patterns/pattern.h"
#include "records/any_record.h"

namespace dent {

// Counts the tries, with the medians filled in.
void learn(std::span<Pattern> patterns, std::span<const record::PatternTried> tries);
// Those in a ledger.
void learn(std::span<Pattern> patterns, std::span<const Record> records);
// All sessions of a project; a ledger that can't be read is passed over. Call once.
void learn(std::span<Pattern> patterns, const SessionStore& store);

}  // namespace dent

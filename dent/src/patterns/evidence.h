// SPDX-License-Identifier: MIT
// Counts how patterns did when they were tried, from ledgers.
#pragma once

#include <span>

#include "ledger/session_store.h"
#include "patterns/pattern.h"
#include "records/any_record.h"

namespace dent {

// Adds the tries to the patterns' evidence and computes the medians.
void learn(std::span<Pattern> patterns, std::span<const record::PatternTried> tries);
// Adds the tries in a ledger's records.
void learn(std::span<Pattern> patterns, std::span<const Record> records);
// Adds the tries in all sessions of a project; skips unreadable ledgers. Call once.
void learn(std::span<Pattern> patterns, const SessionStore& store);

}  // namespace dent

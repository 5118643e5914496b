// SPDX-License-Identifier: MIT
#include "patterns/evidence.h"

#include <algorithm>
#include <exception>

#include "ledger/ledger.h"

namespace dent {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<record::PatternTried> tries_in(std::span<const Record> records) {
  std::vector<record::PatternTried> tries;
  for (const Record& record : records) {
    if (const auto* tried = record.as<record::PatternTried>()) tries.push_back(*tried);
  }
  return tries;
}

}  // namespace

void learn(std::span<Pattern> patterns, std::span<const record::PatternTried> tries) {
  for (Pattern& pattern : patterns) {
    std::vector<double> gains;
    for (const record::PatternTried& tried : tries) {
      if (!same_name(tried.pattern, pattern.name)) continue;
      ++pattern.evidence.tries;
      if (tried.outcome == Tried::kept) ++pattern.evidence.kept;
      if (tried.gain) gains.push_back(*tried.gain);
      if (tried.outcome == Tried::failed || (tried.gain && *tried.gain < 1)) ++pattern.evidence.failures;
    }
    if (!gains.empty()) pattern.evidence.median_gain = median(std::move(gains));
  }
}

void learn(std::span<Pattern> patterns, std::span<const Record> records) {
  learn(patterns, tries_in(records));
}

void learn(std::span<Pattern> patterns, const SessionStore& store) {
  std::vector<record::PatternTried> tries;
  for (const SessionFolder& session : store.list()) {
    try {
      const auto content = read_ledger(session.ledger());
      const auto of_session = tries_in(content.records);
      tries.insert(tries.end(), of_session.begin(), of_session.end());
    } catch (const std::exception&) {  // skip it; dent log reports what is wrong with it
    }
  }
  learn(patterns, tries);
}

}  // namespace dent

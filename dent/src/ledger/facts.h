// SPDX-License-Identifier: MIT
// What a session's records say, by what they speak of: the last word on each thing. Nobody else walks
// records.
//
// Records of a step that has no gate record yet do not count: it was interrupted, and is repeated.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/any_record.h"

namespace dent {

class SessionFacts {
 public:
  SessionFacts() = default;
  explicit SessionFacts(std::span<const Record> records);
  void take(const Record& record);

  bool empty() const { return !session_; }
  const record::Session& session() const;  // throws Error where the ledger has none
  const std::optional<record::Environment>& environment() const { return environment_; }
  // "host machine processor": what a recorded baseline holds for.
  std::string machine_name() const;

  // How a step ended; null while it has not.
  const record::Gate* finished(const std::string& step) const;
  // What it wrote besides, in order.
  std::vector<AnyRecord> records_of(const std::string& step) const;
  const std::vector<record::Gate>& gates() const { return gates_; }  // in the order in which they ended
  double elapsed_s() const;                                          // all of them
  double own_s() const;

  // The last of each shape, in the order of their first.
  std::vector<record::Comparison> comparisons(Against against) const;
  const std::optional<record::Summary>& summary() const { return summary_; }
  // When it is the last word: a session that went on after it has none.
  const std::optional<record::Verdict>& verdict() const { return verdict_; }

 private:
  void count(const AnyRecord& record);

  std::optional<record::Session> session_;
  std::optional<record::Environment> environment_;
  std::map<std::string, std::vector<AnyRecord>> of_steps_;  // ended or not
  std::vector<record::Gate> gates_;
  std::vector<record::Comparison> comparisons_;
  std::optional<record::Summary> summary_;
  std::optional<record::Verdict> verdict_;
};

}  // namespace dent

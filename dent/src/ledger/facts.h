// SPDX-License-Identifier: MIT
// The facts of a session, extracted from its records by subject, with the last record on each subject
// counting. All decisions read these facts; no other code walks the records.
//
// Records of a step without a gate record do not count: the step was interrupted and will be repeated.
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
  const record::Session& session() const;  // throws Error if the ledger has none
  const std::optional<record::Environment>& environment() const { return environment_; }
  // "host machine processor": the key of recorded baselines.
  std::string machine_name() const;

  // How a step ended; null if it has not ended.
  const record::Gate* finished(const std::string& step) const;
  // The step's other records, in order.
  std::vector<AnyRecord> records_of(const std::string& step) const;
  const std::vector<record::Gate>& gates() const { return gates_; }  // in the order in which they ended
  double elapsed_s() const;                                          // of all ended steps
  double own_s() const;

  // The last comparison of each shape, ordered by the first one of each shape.
  std::vector<record::Comparison> comparisons(Against against) const;
  const std::optional<record::Summary>& summary() const { return summary_; }
  // Nothing if records follow the verdict: the session was continued then.
  const std::optional<record::Verdict>& verdict() const { return verdict_; }

 private:
  void count(const AnyRecord& record);

  std::optional<record::Session> session_;
  std::optional<record::Environment> environment_;
  std::map<std::string, std::vector<AnyRecord>> of_steps_;  // including steps that have not ended
  std::vector<record::Gate> gates_;
  std::vector<record::Comparison> comparisons_;
  std::optional<record::Summary> summary_;
  std::optional<record::Verdict> verdict_;
};

}  // namespace dent

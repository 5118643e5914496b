// SPDX-License-Identifier: MIT
#include "ledger/facts.h"

#include <algorithm>

#include "base/error.h"

namespace dent {

SessionFacts::SessionFacts(std::span<const Record> records) {
  for (const Record& record : records) take(record);
}

void SessionFacts::take(const Record& record) {
  if (const auto* session = record.as<record::Session>()) session_ = *session;
  if (const auto* environment = record.as<record::Environment>()) environment_ = *environment;
  if (const auto* verdict = record.as<record::Verdict>()) {
    verdict_ = *verdict;
    return;
  }
  if (const auto* begin = record.as<record::Begin>()) {
    of_steps_[begin->step].clear();
    verdict_.reset();
    return;
  }
  if (record.step.empty()) return;
  if (const auto* gate = record.as<record::Gate>()) {
    std::erase_if(gates_, [gate](const record::Gate& old) { return old.step == gate->step; });
    gates_.push_back(*gate);
    for (const AnyRecord& of_step : of_steps_[gate->step]) count(of_step);
    return;
  }
  of_steps_[record.step].push_back(record.data);
}

void SessionFacts::count(const AnyRecord& record) {
  if (const auto* summary = std::get_if<record::Summary>(&record)) summary_ = *summary;
  const auto* comparison = std::get_if<record::Comparison>(&record);
  if (comparison == nullptr) return;
  const auto same = std::find_if(comparisons_.begin(), comparisons_.end(), [comparison](const auto& old) {
    return old.shape == comparison->shape && old.against == comparison->against;
  });
  if (same != comparisons_.end()) {
    *same = *comparison;
  } else {
    comparisons_.push_back(*comparison);
  }
}

const record::Session& SessionFacts::session() const {
  if (!session_) throw Error(ErrorCode::invalid, "the ledger has no session record");
  return *session_;
}

std::string SessionFacts::machine_name() const {
  if (!environment_) return "unknown";
  std::string text = environment_->host + " " + environment_->machine;
  if (!environment_->cpu.model.empty()) text += " " + environment_->cpu.model;
  return text;
}

const record::Gate* SessionFacts::finished(const std::string& step) const {
  const auto found =
      std::find_if(gates_.begin(), gates_.end(), [&](const record::Gate& gate) { return gate.step == step; });
  return found == gates_.end() ? nullptr : &*found;
}

std::vector<AnyRecord> SessionFacts::records_of(const std::string& step) const {
  const auto found = of_steps_.find(step);
  return found == of_steps_.end() || finished(step) == nullptr ? std::vector<AnyRecord>{} : found->second;
}

double SessionFacts::elapsed_s() const {
  double seconds = 0;
  for (const record::Gate& gate : gates_) seconds += gate.elapsed_s;
  return seconds;
}

double SessionFacts::own_s() const {
  double seconds = 0;
  for (const record::Gate& gate : gates_) seconds += gate.own_s;
  return seconds;
}

std::vector<record::Comparison> SessionFacts::comparisons(Against against) const {
  std::vector<record::Comparison> found;
  for (const record::Comparison& comparison : comparisons_) {
    if (comparison.against == against) found.push_back(comparison);
  }
  return found;
}

}  // namespace dent

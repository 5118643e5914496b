// SPDX-License-Identifier: MIT
#include "loop/steps.h"

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"

namespace dent {
namespace {

struct Performed {
  GateResult result;
  double seconds = 0;
};

Performed timed(const std::string& step, const std::function<GateResult()>& gate) {
  const auto start = std::chrono::steady_clock::now();
  try {
    GateResult result = gate();
    return {std::move(result), seconds_since(start)};
  } catch (const KernelFailed& problem) {
    return {failed(problem.failure(), step), seconds_since(start)};
  }
}

// In this order: the gate record says that the step has ended.
void add(std::vector<AnyRecord>& records, const Performed& performed, const Step& step) {
  records.insert(records.end(), performed.result.records.begin(), performed.result.records.end());
  record::Gate gate = to_record(performed.result, step.name);
  gate.elapsed_s = performed.seconds;
  gate.time_box_s = step.time_box_s;
  records.emplace_back(std::move(gate));
}

}  // namespace

const SessionFacts& Steps::facts() {
  for (; taken_ < ledger_.records().size(); ++taken_) facts_.take(ledger_.records()[taken_]);
  return facts_;
}

std::optional<GateResult> Steps::recorded(const std::string& name) {
  const record::Gate* gate = facts().finished(name);
  if (gate == nullptr) return std::nullopt;
  GateResult result = result_of(*gate);
  result.records = facts().records_of(name);
  return result;
}

GateResult Steps::perform(const Step& step, const std::function<GateResult(const Progress&)>& gate) {
  ++number_;
  if (auto known = recorded(step.name)) return *std::move(known);
  display_.begin(step, number_, std::max(of_, number_));
  ledger_.append(record::Begin{step.name}, step.name);
  Performed performed = timed(step.name, [&] { return gate(progress()); });
  std::vector<AnyRecord> records;
  add(records, performed, step);
  ledger_.append(std::move(records), step.name);
  display_.end(step, performed.result, performed.seconds);
  return std::move(performed.result);
}

GateResult Steps::trial(const std::string& name, const std::function<GateResult()>& gate) {
  if (auto known = recorded(name)) return *std::move(known);
  Performed performed = timed(name, gate);
  std::vector<AnyRecord> records{record::Begin{name}};
  add(records, performed, {.name = name, .time_box_s = 0});
  ledger_.append(std::move(records), name);
  return std::move(performed.result);
}

void Steps::begin(const Step& step) {
  ++number_;
  display_.begin(step, number_, std::max(of_, number_));
}

void Steps::end(const Step& step, const GateResult& result, double seconds) {
  display_.end(step, result, seconds);
}

void Steps::say(const std::string& text) { display_.note(text); }

Progress Steps::progress() const {
  return [this](double share, const std::string& doing) { display_.progress(share, doing); };
}

}  // namespace dent

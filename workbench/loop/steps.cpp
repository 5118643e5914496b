// SPDX-License-Identifier: MIT
#include "loop/steps.h"

#include <chrono>

#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;

json gate_json(const GateResult& result, double seconds) {
  json out{{"verdict", name(result.verdict)},
           {"reason", result.reason},
           {"cause_number", static_cast<int>(result.cause)},
           {"elapsed_s", seconds}};
  if (!result.next.empty()) out["next"] = result.next;
  if (!result.evidence.is_null()) out["evidence"] = result.evidence;
  if (!result.last_words.empty()) out["last_words"] = result.last_words;
  return out;
}

GateResult gate_of(const json& data) {
  GateResult result;
  const std::string verdict = data.at("verdict");
  result.verdict = verdict == "pass"   ? GateVerdict::pass
                   : verdict == "fail" ? GateVerdict::fail
                                       : GateVerdict::skipped;
  result.cause = static_cast<Cause>(data.value("cause_number", 0));
  result.reason = data.at("reason");
  result.next = data.value("next", "");
  result.last_words = data.value("last_words", "");
  return result;
}

}  // namespace

std::optional<GateResult> Steps::recorded(const std::string& name) const {
  std::vector<std::pair<std::string, json>> between;
  for (const Record& record : ledger_.records()) {
    if (record.kind == "begin") between.clear();
    if (record.kind == "gate" && record.data.at("step") == name) {
      GateResult result = gate_of(record.data);
      result.records = std::move(between);
      return result;
    }
    between.emplace_back(record.kind, record.data);
  }
  return std::nullopt;
}

GateResult Steps::step(const std::string& name, double time_box_s,
                       const std::function<GateResult(const Progress&)>& gate) {
  ++number_;
  if (auto known = recorded(name)) return *known;
  const Step step{StepKind::performance, name, 0, time_box_s, "", ""};
  display_.begin(step, number_, std::max(of_, number_));
  ledger_.append("begin", {{"step", name}});
  const auto start = std::chrono::steady_clock::now();
  GateResult result;
  try {
    result = gate(progress());
  } catch (const KernelFailed& problem) {
    result = failed(problem.failure());
  }
  const double seconds = seconds_since(start);
  for (const auto& [kind, data] : result.records) ledger_.append(kind, data);
  json record = gate_json(result, seconds);
  record["step"] = name;
  record["time_box_s"] = time_box_s;
  ledger_.append("gate", std::move(record));
  display_.end(step, result, seconds);
  return result;
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

std::optional<GateResult> LedgerTrials::find(const std::string& trial) const {
  for (const Record& record : ledger_.records()) {
    if (record.kind != "trial" || record.data.at("iteration") != iteration_ ||
        record.data.at("trial") != trial)
      continue;
    GateResult result = gate_of(record.data);
    for (const json& entry : record.data.at("records"))
      result.records.emplace_back(entry.at("kind"), entry.at("data"));
    return result;
  }
  return std::nullopt;
}

void LedgerTrials::keep(const std::string& trial, const GateResult& result, double seconds) {
  json record = gate_json(result, seconds);
  record["iteration"] = iteration_;
  record["trial"] = trial;
  json records = json::array();
  for (const auto& [kind, data] : result.records) records.push_back({{"kind", kind}, {"data", data}});
  record["records"] = std::move(records);
  ledger_.append("trial", std::move(record));
}

}  // namespace dent

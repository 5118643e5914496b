// SPDX-License-Identifier: MIT
#include "report/document.h"

#include <fmt/format.h>

#include "report/format.h"

namespace dent {
namespace {

using Json = nlohmann::json;

// The version of report.json: within it, keys are only added.
constexpr int kDocumentSchema = 1;

void add(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}
void add(Json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = *value;
}
template <class T>
void add(Json& object, const char* key, const std::optional<T>& record) {
  if (record) object[key] = as_json(*record);
}

template <class Entries, class ToJson>
Json list(const Entries& entries, const ToJson& to_json) {
  Json array = Json::array();
  for (const auto& entry : entries) array.push_back(to_json(entry));
  return array;
}
template <class Record>
Json list(const std::vector<Record>& records) {
  return list(records, [](const Record& record) { return as_json(record); });
}

Json step_json(const StepView& step) {
  Json object{{"step", step.step}, {"verdict", step.verdict()}, {"reason", step.reason()}};
  if (step.time_box_s > 0) object["time_box_s"] = step.time_box_s;
  if (!step.gate) return object;
  object["elapsed_s"] = step.gate->elapsed_s;
  add(object, "last_words", step.gate->last_words);
  if (step.gate->cause) object["cause"] = name(*step.gate->cause);
  return object;
}

Json prediction_json(const record::Prediction& p) {
  Json object{{"shape", p.shape},           {"headline", p.headline},
              {"dominating", p.dominating}, {"expected_us", p.expected_us},
              {"low_us", p.low_us},         {"high_us", p.high_us}};
  if (!p.changes.empty()) add(object, "change", p.changes.front().change);
  return object;
}

Json correctness_json(const record::Correctness& c) {
  Json object{
      {"shape", c.shape}, {"verdict", name(c.verdict)}, {"max_error", c.max_error}, {"bound", c.bound},
      {"bad", c.bad},     {"elements", c.elements},     {"seeds", c.seeds}};
  add(object, "first_bad", show_first_bad(c));
  return object;
}

Json history_json(const HistoryEntry& entry) {
  Json object{{"id", entry.id}};
  if (!entry.unreadable.empty()) {
    object["unreadable"] = entry.unreadable;
    return object;
  }
  object["verdict"] = name(entry.verdict);
  add(object, "started", entry.started);
  add(object, "ratio", entry.mean);
  add(object, "candidate", entry.candidate);
  add(object, "device", entry.device);
  add(object, "commit", entry.commit);
  return object;
}

Json iteration_json(const ClimbStep& step) {
  const Proposal& proposal = step.iteration.proposal;
  Json entry{{"iteration", step.iteration.iteration},
             {"proposer", proposal.proposer},
             {"phase", name(proposal.phase)},
             {"bottleneck", proposal.hypothesis.bottleneck},
             {"change", proposal.hypothesis.change},
             {"expected", proposal.hypothesis.expected},
             {"kept", step.kept()},
             {"stage", step.outcome ? name(step.outcome->outcome.stage) : ""},
             {"reason", step.outcome ? step.outcome->outcome.reason : ""},
             {"speedup", step.speedup},
             {"elapsed_s", step.outcome ? step.outcome->outcome.elapsed_s : 0.0},
             {"overhead_s", step.outcome ? step.outcome->overhead_s : 0.0}};
  add(entry, "gain", step.gain());
  if (step.outcome) add(entry, "commit", step.outcome->commit);
  add(entry, "pattern", proposal.pattern);
  add(entry, "patch", step.iteration.patch);
  return entry;
}

Json climb_json(const ClimbView& climb) {
  Json json{{"branch", climb.loop->branch}, {"base", climb.loop->base}};
  if (climb.end) json["ended"] = climb.end->reason;
  add(json, "target", climb.loop->target);
  add(json, "start", climb.start);
  add(json, "winner", climb.winner);
  json["iterations"] = list(climb.steps, iteration_json);
  json["gains"] = list(climb.gains, [](const record::Comparison& gain) {
    Json entry{{"shape", gain.shape}, {"verdict", name(gain.verdict)}};
    add(entry, "ratio", gain.ratio);
    return entry;
  });
  return json;
}

}  // namespace

Json cost_json(const Cost& cost, const Money& money) {
  Json object = as_json(cost);
  if (money.total() > 0) object["usd"] = as_json(money);
  return object;
}

Json json_report(const SessionView& s, std::span<const HistoryEntry> history) {
  Json object{{"schema", kDocumentSchema},
              {"id", s.id},
              {"started", s.started},
              {"verdict", name(s.verdict)},
              {"reason", s.reason}};
  add(object, "next", s.next);
  if (s.end) {
    object["exit_code"] = s.end->exit_code;
    object["elapsed_s"] = s.end->elapsed_s;
    if (s.end->own_s > 0) object["own_s"] = s.end->own_s;
  }
  add(object, "ratio", s.mean());
  object["session"] = as_json(s.session);
  object["environment"] = s.environment ? as_json(*s.environment) : Json::object();
  add(object, "build", s.build);
  object["gates"] = list(s.steps, step_json);
  object["checks"] = list(s.checks);
  if (!s.predictions.empty()) object["predictions"] = list(s.predictions, prediction_json);
  object["correctness"] = list(s.correctness, correctness_json);
  object["comparisons"] = list(s.comparisons);
  object["cheats"] = list(s.cheats);
  add(object, "roofline", s.roofline);
  if (!s.diagnoses.empty()) object["diagnoses"] = list(s.diagnoses);
  if (s.climb.loop) object["climb"] = climb_json(s.climb);
  object["cost"] = cost_json(s.cost, s.money);
  object["notes"] = s.notes;
  object["history"] = list(history, history_json);
  return object;
}

}  // namespace dent

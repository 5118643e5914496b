// SPDX-License-Identifier: MIT
#include "report/json.h"

#include "ledger/sampling_records.h"

namespace dent {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
void put(Json& json, const char* key, const std::optional<Ratio>& ratio) {
  if (ratio) json[key] = ratio_record(*ratio);
}

Json gate_json(const GateView& gate) {
  Json json{{"step", gate.step}, {"verdict", gate.verdict}, {"reason", gate.reason}};
  put(json, "elapsed_s", gate.elapsed_s);
  put(json, "time_box_s", gate.time_box_s);
  put(json, "last_words", gate.last_words);
  return json;
}

Json check_json(const CheckView& check) {
  Json json{{"step", check.step}, {"name", check.name}, {"found", check.found}, {"verdict", check.verdict}};
  put(json, "fix", check.fix);
  return json;
}

Json correctness_json(const CorrectnessView& c) {
  Json json{{"shape", c.shape}, {"verdict", c.verdict},   {"max_error", c.max_error}, {"bound", c.bound},
            {"bad", c.bad},     {"elements", c.elements}, {"seeds", c.seeds}};
  put(json, "first_bad", c.first_bad);
  return json;
}

Json shape_json(const ShapeView& shape) {
  Json json{{"shape", shape.shape}, {"verdict", shape.verdict}, {"reason", shape.reason}};
  put(json, "ratio", shape.ratio);
  json.update({{"baseline_ns", shape.baseline_ns},
               {"candidate_ns", shape.candidate_ns},
               {"pairs", shape.pairs},
               {"pairs_aside", shape.pairs_aside},
               {"stop", shape.stop},
               {"elapsed_s", shape.elapsed_s}});
  put(json, "flops", shape.flops);
  put(json, "bytes", shape.bytes);
  put(json, "floor_ns", shape.floor_ns);
  put(json, "clock_mhz", shape.clock_mhz);
  return json;
}

Json cheat_json(const CheatView& cheat) {
  Json json{{"name", cheat.name}, {"evidence", cheat.evidence}, {"step", cheat.step}};
  put(json, "shape", cheat.shape);
  return json;
}

Json history_json(const HistoryEntry& entry) {
  Json json{{"id", entry.id}};
  put(json, "started", entry.started);
  put(json, "verdict", entry.verdict);
  put(json, "ratio", entry.mean);
  put(json, "candidate", entry.candidate);
  put(json, "device", entry.device);
  put(json, "commit", entry.commit);
  put(json, "unreadable", entry.unreadable);
  return json;
}

template <class Entries, class ToJson>
Json list(const Entries& entries, const ToJson& to_json) {
  Json json = Json::array();
  for (const auto& entry : entries) json.push_back(to_json(entry));
  return json;
}

}  // namespace

Json json_report(const SessionView& s, std::span<const HistoryEntry> history) {
  Json json{{"schema", kRecordSchema},
            {"id", s.id},
            {"started", s.started},
            {"verdict", s.verdict},
            {"reason", s.reason}};
  put(json, "next", s.next);
  put(json, "exit_code", s.exit_code);
  put(json, "elapsed_s", s.elapsed_s);
  put(json, "ratio", s.mean);
  json["session"] = s.about;
  json["environment"] = s.environment;
  if (!s.build.is_null()) json["build"] = s.build;
  json["gates"] = list(s.gates, gate_json);
  json["checks"] = list(s.checks, check_json);
  json["correctness"] = list(s.correctness, correctness_json);
  json["comparisons"] = list(s.shapes, shape_json);
  json["cheats"] = list(s.cheats, cheat_json);
  if (s.roofline) {
    json["roofline"] = {{"device", s.roofline->device},
                        {"source", s.roofline->source},
                        {"peak_gflops", s.roofline->peak_gflops},
                        {"peak_gbs", s.roofline->peak_gbs}};
  }
  if (!s.diagnosis_records.empty()) json["diagnoses"] = s.diagnosis_records;
  json["notes"] = s.notes;
  json["history"] = list(history, history_json);
  return json;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "report/document.h"

#include "records/sampling_records.h"

namespace dent {
namespace {

using Json = nlohmann::json;

void add(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}
template <class T>
void add(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}
void add(Json& object, const char* key, const std::optional<Ratio>& ratio) {
  if (ratio) object[key] = ratio_record(*ratio);
}

Json gate_json(const GateView& gate) {
  Json object{{"step", gate.step}, {"verdict", gate.verdict}, {"reason", gate.reason}};
  add(object, "elapsed_s", gate.elapsed_s);
  add(object, "time_box_s", gate.time_box_s);
  add(object, "last_words", gate.last_words);
  return object;
}

Json check_json(const CheckView& check) {
  Json object{{"step", check.step}, {"name", check.name}, {"found", check.found}, {"verdict", check.verdict}};
  add(object, "fix", check.fix);
  return object;
}

Json prediction_json(const PredictionView& p) {
  Json object{{"shape", p.shape},           {"headline", p.headline},
              {"dominating", p.dominating}, {"expected_us", p.expected_us},
              {"low_us", p.low_us},         {"high_us", p.high_us}};
  add(object, "change", p.change);
  return object;
}

Json correctness_json(const CorrectnessView& c) {
  Json object{{"shape", c.shape}, {"verdict", c.verdict},   {"max_error", c.max_error}, {"bound", c.bound},
              {"bad", c.bad},     {"elements", c.elements}, {"seeds", c.seeds}};
  add(object, "first_bad", c.first_bad);
  return object;
}

Json shape_json(const ShapeView& shape) {
  Json object{{"shape", shape.shape}, {"verdict", shape.verdict}, {"reason", shape.reason}};
  add(object, "ratio", shape.ratio);
  object.update({{"baseline_ns", shape.baseline_ns},
                 {"candidate_ns", shape.candidate_ns},
                 {"pairs", shape.pairs},
                 {"pairs_aside", shape.pairs_aside},
                 {"stop", shape.stop},
                 {"elapsed_s", shape.elapsed_s}});
  add(object, "flops", shape.flops);
  add(object, "bytes", shape.bytes);
  add(object, "floor_ns", shape.floor_ns);
  add(object, "clock_mhz", shape.clock_mhz);
  return object;
}

Json cheat_json(const CheatView& cheat) {
  Json object{{"name", cheat.name}, {"evidence", cheat.evidence}, {"step", cheat.step}};
  add(object, "shape", cheat.shape);
  return object;
}

Json history_json(const HistoryEntry& entry) {
  Json object{{"id", entry.id}};
  add(object, "started", entry.started);
  add(object, "verdict", entry.verdict);
  add(object, "ratio", entry.mean);
  add(object, "candidate", entry.candidate);
  add(object, "device", entry.device);
  add(object, "commit", entry.commit);
  add(object, "unreadable", entry.unreadable);
  return object;
}

template <class Entries, class ToJson>
Json list(const Entries& entries, const ToJson& to_json) {
  Json array = Json::array();
  for (const auto& entry : entries) array.push_back(to_json(entry));
  return array;
}

}  // namespace

Json climb_json(const ClimbView& climb) {
  Json json{{"branch", climb.branch}, {"base", climb.base}};
  add(json, "ended", climb.ended);
  add(json, "target", climb.target);
  add(json, "start", climb.start);
  add(json, "winner", climb.winner);
  json["iterations"] = list(climb.steps, [](const ClimbStep& step) {
    Json entry{{"iteration", step.iteration}, {"proposer", step.proposer},
               {"phase", step.phase},         {"bottleneck", step.bottleneck},
               {"change", step.change},       {"expected", step.expected},
               {"kept", step.kept},           {"stage", step.stage},
               {"reason", step.reason},       {"speedup", step.speedup},
               {"elapsed_s", step.elapsed_s}, {"overhead_s", step.overhead_s}};
    add(entry, "gain", step.gain);
    add(entry, "commit", step.commit);
    add(entry, "pattern", step.pattern);
    add(entry, "patch", step.patch);
    return entry;
  });
  json["gains"] = list(climb.gains, [](const ClimbView::Gain& gain) {
    Json entry{{"shape", gain.shape}, {"verdict", gain.verdict}};
    add(entry, "ratio", gain.ratio);
    return entry;
  });
  return json;
}

Json json_report(const SessionView& s, std::span<const HistoryEntry> history) {
  Json object{{"schema", kRecordSchema},
              {"id", s.id},
              {"started", s.started},
              {"verdict", s.verdict},
              {"reason", s.reason}};
  add(object, "next", s.next);
  add(object, "exit_code", s.exit_code);
  add(object, "elapsed_s", s.elapsed_s);
  add(object, "own_s", s.own_s);
  add(object, "ratio", s.mean);
  object["session"] = s.about;
  object["environment"] = s.environment;
  if (!s.build.is_null()) object["build"] = s.build;
  object["gates"] = list(s.gates, gate_json);
  object["checks"] = list(s.checks, check_json);
  if (!s.predictions.empty()) object["predictions"] = list(s.predictions, prediction_json);
  object["correctness"] = list(s.correctness, correctness_json);
  object["comparisons"] = list(s.shapes, shape_json);
  object["cheats"] = list(s.cheats, cheat_json);
  if (s.roofline) {
    object["roofline"] = {{"device", s.roofline->device},
                          {"source", s.roofline->source},
                          {"peak_gflops", s.roofline->peak_gflops},
                          {"peak_gbs", s.roofline->peak_gbs}};
  }
  if (!s.diagnosis_records.empty()) object["diagnoses"] = s.diagnosis_records;
  if (s.climb.any()) object["climb"] = climb_json(s.climb);
  object["cost"] = to_json(s.cost, s.money);
  object["notes"] = s.notes;
  object["history"] = list(history, history_json);
  return object;
}

}  // namespace dent

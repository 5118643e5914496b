// SPDX-License-Identifier: MIT
#include "report/session_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "ledger/ledger.h"
#include "records/sampling_records.h"

namespace dent {
namespace {

using nlohmann::json;

template <class T>
std::optional<T> maybe(const json& data, const char* key) {
  return data.contains(key) ? std::optional<T>(data.at(key).get<T>()) : std::nullopt;
}

std::string text_or_empty(const json& data, const char* key) { return data.value(key, std::string()); }

// The entry with that key, new at the end when there is none yet: a step that was repeated has the last word.
template <class Entry>
Entry& entry_of(std::vector<Entry>& entries, std::string Entry::*key, const std::string& value) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.*key == value; });
  if (found != entries.end()) return *found;
  entries.emplace_back().*key = value;
  return entries.back();
}

void take_session(SessionView& view, const json& data) {
  view.about = data;
  for (const json& step : data.at("plan")) {
    view.plan.push_back({step.at("step"), step.at("time_box_s"), text_or_empty(step, "stop_rule"),
                         text_or_empty(step, "threshold")});
    view.gates.push_back({view.plan.back().step, "not reached", "", {}, view.plan.back().time_box_s, ""});
  }
}

void take_begin(SessionView& view, const json& data) {
  GateView& gate = entry_of(view.gates, &GateView::step, data.at("step").get<std::string>());
  gate = {gate.step, "interrupted", "began and did not end", {}, gate.time_box_s, ""};
  view.verdict.clear();
}

void take_gate(SessionView& view, const json& data) {
  GateView& gate = entry_of(view.gates, &GateView::step, data.at("step").get<std::string>());
  gate.verdict = data.at("verdict");
  gate.reason = data.at("reason");
  gate.elapsed_s = data.at("elapsed_s").get<double>();
  gate.time_box_s = maybe<double>(data, "time_box_s");
  gate.last_words = text_or_empty(data, "last_words");
}

void take_check(SessionView& view, const json& data) {
  const CheckView check{data.at("step"), data.at("name"), data.at("found"), data.at("verdict"),
                        text_or_empty(data, "fix")};
  const auto same = [&check](const CheckView& old) {
    return old.step == check.step && old.name == check.name;
  };
  if (const auto old = std::find_if(view.checks.begin(), view.checks.end(), same); old != view.checks.end()) {
    *old = check;
  } else {
    view.checks.push_back(check);
  }
}

void take_correctness(SessionView& view, const json& data) {
  CorrectnessView& c =
      entry_of(view.correctness, &CorrectnessView::shape, data.at("shape").get<std::string>());
  c.verdict = data.at("verdict");
  c.max_error = data.at("max_error");
  c.bound = data.at("bound");
  c.bad = data.at("bad");
  c.elements = data.at("elements");
  c.seeds = data.at("seeds");
  c.first_bad.clear();
  if (const auto bad = maybe<json>(data, "first_bad")) {
    const auto plain = [&bad](const char* key) {
      const json& value = bad->at(key);
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    c.first_bad = fmt::format("{}: {} instead of {}", plain("index"), plain("got"), plain("expected"));
  }
}

void take_samples(SessionView& view, const json& data) {
  ShapeView& shape = entry_of(view.shapes, &ShapeView::shape, data.at("shape").get<std::string>());
  shape.samples = pairs_of(data);
  shape.aside = maybe<std::vector<std::size_t>>(data, "aside").value_or(std::vector<std::size_t>{});
}

void take_comparison(SessionView& view, const json& data) {
  ShapeView& shape = entry_of(view.shapes, &ShapeView::shape, data.at("shape").get<std::string>());
  shape.verdict = data.at("verdict");
  shape.reason = data.at("reason");
  shape.ratio = data.contains("ratio") ? std::optional(ratio_of(data.at("ratio"))) : std::nullopt;
  shape.baseline_ns = data.at("baseline_ns");
  shape.candidate_ns = data.at("candidate_ns");
  shape.pairs = data.at("pairs");
  shape.pairs_aside = data.at("pairs_aside");
  shape.stop = data.at("stop");
  shape.elapsed_s = data.at("elapsed_s");
  shape.same_within = data.at("same_within");
  shape.flops = maybe<double>(data, "flops");
  shape.bytes = maybe<double>(data, "bytes");
  shape.floor_ns = maybe<double>(data, "floor_ns");
  shape.clock_mhz = maybe<double>(data, "clock_mhz");
}

void take_diagnosis(SessionView& view, const json& data) {
  entry_of(view.diagnoses, &DiagnosisView::shape, data.at("shape").get<std::string>()) = view_diagnosis(data);
  for (json& old : view.diagnosis_records) {
    if (old.at("shape") == data.at("shape")) {
      old = data;
      return;
    }
  }
  view.diagnosis_records.push_back(data);
}

void take_prediction(SessionView& view, const json& data) {
  PredictionView p;
  p.shape = data.value("shape", "");
  p.headline = data.value("headline", "");
  p.dominating = data.value("dominating", "");
  p.expected_us = data.value("expected_us", 0.0);
  p.low_us = data.value("low_us", 0.0);
  p.high_us = data.value("high_us", 0.0);
  const json changes = data.value("changes", json::array());
  if (!changes.empty()) p.change = changes[0].value("change", "");
  std::erase_if(view.predictions, [&](const PredictionView& old) { return old.shape == p.shape; });
  view.predictions.push_back(std::move(p));
}

void take_roofline(SessionView& view, const json& data) {
  view.roofline = {data.at("device"), data.at("source"), data.at("peak_gflops"), data.at("peak_gbs")};
}

void take_summary(SessionView& view, const json& data) {
  view.mean_verdict = data.at("verdict");
  view.mean = data.contains("ratio") ? std::optional(ratio_of(data.at("ratio"))) : std::nullopt;
}

void take_cheat(SessionView& view, const json& data) {
  view.cheats.push_back(
      {data.at("name"), data.at("evidence"), text_or_empty(data, "step"), text_or_empty(data, "shape")});
}

void take_verdict(SessionView& view, const json& data) {
  view.verdict = data.at("verdict");
  view.reason = data.at("reason");
  view.next = text_or_empty(data, "next");
  view.exit_code = data.at("exit_code").get<int>();
  view.elapsed_s = data.at("elapsed_s").get<double>();
  if (data.contains("own_s")) view.own_s = data.at("own_s").get<double>();
}

using Take = std::function<void(SessionView&, const json&)>;
const std::map<std::string, Take>& takers() {
  static const std::map<std::string, Take> kTakers{
      {"session", take_session},
      {"environment", [](SessionView& view, const json& data) { view.environment.update(data); }},
      {"begin", take_begin},
      {"check", take_check},
      {"build", [](SessionView& view, const json& data) { view.build = data; }},
      {"prediction", take_prediction},
      {"correctness", take_correctness},
      {"samples", take_samples},
      {"comparison", take_comparison},
      {"roofline", take_roofline},
      {"diagnosis", take_diagnosis},
      {"summary", take_summary},
      {"cheat", take_cheat},
      {"gate", take_gate},
      {"note", [](SessionView& view, const json& data) { view.notes.push_back(data.at("text")); }},
      {"verdict", take_verdict},
  };
  return kTakers;
}

// The least time that the device needs for a shape, where its peaks are known and nobody has said it.
void fill_in_floors(SessionView& view) {
  if (!view.roofline || !(view.roofline->peak_gflops > 0) || !(view.roofline->peak_gbs > 0)) return;
  for (ShapeView& shape : view.shapes) {
    if (shape.floor_ns || (!shape.flops && !shape.bytes)) continue;
    shape.floor_ns = std::max(shape.flops.value_or(0) / view.roofline->peak_gflops,
                              shape.bytes.value_or(0) / view.roofline->peak_gbs);
  }
}

}  // namespace

std::string SessionView::text(const char* key) const { return text_or_empty(about, key); }

SessionView view_session(const std::string& id, std::span<const Record> records) {
  SessionView view;
  view.id = id;
  view.about = view.environment = json::object();
  view.records = records.size();
  if (!records.empty()) view.started = records.front().time;
  view.cost = cost_of(records);
  view.money = money_of(view.cost, rates_of(records));
  for (const Record& record : records) {
    try {
      take_climb(view.climb, record);
    } catch (const json::exception& error) {
      throw Error(ErrorCode::invalid, fmt::format("session {}, record {} ({}): {}", id, record.number,
                                                  record.kind, error.what()));
    }
    const auto taker = takers().find(record.kind);
    if (taker == takers().end()) continue;  // a kind of a later dent
    try {
      taker->second(view, record.data);
    } catch (const json::exception& error) {
      throw Error(ErrorCode::invalid, fmt::format("session {}, record {} ({}): {}", id, record.number,
                                                  record.kind, error.what()));
    }
  }
  fill_in_floors(view);
  if (view.verdict.empty()) {
    view.verdict = "INTERRUPTED";
    view.reason = "the session ended before its verdict";
    view.next = "dent resume " + id;
  }
  return view;
}

SessionView load_session(const SessionFolder& session) {
  return view_session(session.id, read_ledger(session.ledger()).records);
}

}  // namespace dent

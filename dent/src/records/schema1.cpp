// SPDX-License-Identifier: MIT
#include "records/schema1.h"

#include <array>
#include <nlohmann/json.hpp>

#include "records/cause.h"
#include "records/comparison.h"
#include "records/loop.h"

namespace dent {
namespace {

using nlohmann::json;

// Causes by the numbers of the old enum, without `none`; exit codes are these numbers plus 2.
constexpr std::array kByNumber{Cause::environment, Cause::build,     Cause::incorrect,
                               Cause::slower,      Cause::regressed, Cause::ambiguous,
                               Cause::cheat,       Cause::timeout,   Cause::budget};
void cause_from_number(json& data, const char* key, int number) {
  data.erase(key);
  if (number >= 1 && number <= static_cast<int>(kByNumber.size()))
    data["cause"] = name(kByNumber[static_cast<std::size_t>(number) - 1]);
}
void cause_from_exit_code(json& data) {  // environment 3, build 4, ... budget 11
  const int code = data.value("cause", 0);
  data.erase("cause");
  if (code >= 3) cause_from_number(data, "cause", code - 2);
}

void gate(json& data) {
  if (data.contains("cause_number")) {
    cause_from_number(data, "cause_number", data.at("cause_number").get<int>());
  } else if (data.contains("cause")) {
    cause_from_exit_code(data);
  }
  // A failed gate needs a cause; some old versions did not write one.
  if (data.at("verdict") == "fail" && !data.contains("cause")) data["cause"] = name(Cause::environment);
  const json evidence = data.value("evidence", json::object());
  data.erase("evidence");
  if (!evidence.is_object()) return;
  if (evidence.contains("seed")) data["seed"] = evidence.at("seed");
  if (evidence.contains("failure")) data["failure"] = evidence.at("failure");
  if (const auto fastest = evidence.find("fastest_ns"); fastest != evidence.end()) {
    json figures = json::array();
    for (const auto& [shape, ns] : fastest->items())
      figures.push_back({{"name", "fastest " + shape}, {"value", ns}, {"unit", "ns"}});
    if (!figures.empty()) data["figures"] = std::move(figures);
  }
}

// Schema 1 stored the requested gates as flags.
void session(json& data) {
  data.erase("seed");
  if (const std::string device = data.at("device"); device.rfind("cuda", 0) == 0) data["device"] = "cuda";
  const json options = data.value("options", json::object());
  data.erase("options");
  if (!options.is_object() || options.empty()) return;
  json gates = json::array();
  for (const char* gate : {"preflight", "build", "baseline", "correctness", "sanitize", "performance"}) {
    if (options.value(gate, false)) gates.push_back(gate);
  }
  constexpr int kAlways = 2;
  if (options.value("profile", 0) == kAlways) gates.push_back("profile");
  data["gates"] = std::move(gates);
  if (options.contains("shapes") && !options.at("shapes").empty()) data["shapes"] = options.at("shapes");
}

void iteration(json& data) {
  if (data.value("refusal", "").rfind("no more ideas", 0) == 0) data["done"] = true;
}

void outcome(json& data) {
  const int cause = data.value("cause", 0);
  cause_from_number(data, "cause", cause);
  const std::string stage = data.at("stage");
  data["stage"] = stage.substr(0, stage.find('/'));  // "confirmation/2"
}

void standing(json& data) {
  const std::string step = data.value("step", "performance");
  data["step"] = step;
  data["of"] = name(step.rfind("winner", 0) == 0     ? StandingOf::winner
                    : step.rfind("standing", 0) == 0 ? StandingOf::incumbent
                                                     : StandingOf::start);
  for (json& shape : data.at("shapes")) {
    shape["incumbent_ns"] = shape.at("baseline_ns");
    shape.erase("baseline_ns");
  }
}

void loop_end(json& data) {
  const std::string reason = data.at("reason");
  data["ending"] = name(reason == "target reached"                       ? LoopEnding::target_reached
                        : reason.rfind("the budget is spent", 0) == 0    ? LoopEnding::budget_spent
                        : reason == "as many iterations as there may be" ? LoopEnding::iterations
                                                                         : LoopEnding::no_ideas);
}

void budget(json& data) {  // "50 % of device time"
  const std::string what = data.at("what");
  data.erase("what");
  data["mark"] = std::atof(what.c_str()) / 100;
  const auto of = what.find(" of ");
  data["part"] = of == std::string::npos ? what : what.substr(of + 4);
}

// Trial records were measured against the incumbent, records with a prefix against the start.
void against(json& data, Against whom) { data["against"] = name(whom); }

std::vector<TodaysRecord> trial(const json& data) {
  std::vector<TodaysRecord> records;
  const int number = data.at("iteration");
  const std::string iteration = std::to_string(number);
  const std::string step = std::string(iteration.size() < 3 ? 3 - iteration.size() : 0, '0') + iteration +
                           "/" + data.at("trial").get<std::string>();
  for (const json& entry : data.at("records")) {
    json inner = entry.at("data");
    const std::string kind = entry.at("kind");
    if (kind == "comparison" || kind == "samples") against(inner, Against::incumbent);
    for (TodaysRecord& record : from_schema1(kind, inner)) {
      record.step = step;
      records.push_back(std::move(record));
    }
  }
  json end = data;
  for (const char* key : {"iteration", "trial", "records"}) end.erase(key);
  end["step"] = step;
  gate(end);
  records.push_back({"gate", step, end.dump()});
  return records;
}

}  // namespace

std::vector<TodaysRecord> from_schema1(const std::string& written, const json& old) {
  if (written == "trial") return trial(old);
  std::string kind = written;
  json data = old;
  for (const char* prefix : {"gain_", "held_out_"}) {
    if (kind.rfind(prefix, 0) != 0) continue;
    kind.erase(0, std::string(prefix).size());
    if (kind == "correctness") data["held_out"] = true;
    if (kind == "comparison" || kind == "samples") against(data, Against::start);
  }
  if ((kind == "comparison" || kind == "samples") && !data.contains("against"))
    against(data, Against::baseline);
  if (kind == "build" && !data.contains("kernels")) data["kernels"] = json::array();
  if (kind == "session") session(data);
  if (kind == "gate") gate(data);
  if (kind == "iteration") iteration(data);
  if (kind == "outcome") outcome(data);
  if (kind == "standing") standing(data);
  if (kind == "loop_end") loop_end(data);
  if (kind == "budget") budget(data);
  if (kind == "roofline" && !data.contains("source")) data["source"] = name(PeakSource::table);
  std::string step;
  if (kind == "gate" || kind == "begin") step = data.at("step");
  return {{kind, step, data.dump(-1, ' ', false, json::error_handler_t::replace)}};
}

}  // namespace dent

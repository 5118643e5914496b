// SPDX-License-Identifier: MIT
// A session as its reports see it: the records sorted by what they speak of, the last word on each thing
// kept.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "records/record.h"
#include "ledger/session_store.h"
#include "measure/ratio.h"
#include "measure/sample.h"
#include "report/climb.h"
#include "accounting/cost.h"
#include "report/diagnosis_view.h"

namespace dent {

struct PlannedStep {
  std::string step;
  double time_box_s = 0;
  std::string stop_rule;
  std::string threshold;
};

struct GateView {
  std::string step;
  std::string
      verdict;  // pass, fail, skipped; "interrupted" for a step that began and has no end; "not reached"
  std::string reason;
  std::optional<double> elapsed_s;
  std::optional<double> time_box_s;
  std::string last_words;
};

struct CheckView {
  std::string step, name, found, verdict, fix;
};

struct CorrectnessView {
  std::string shape, verdict;
  double max_error = 0, bound = 0;
  long long bad = 0, elements = 0, seeds = 0;
  std::string first_bad;  // "[2, 7, 64]: 0.31 instead of 0.02"
};

struct ShapeView {
  std::string shape;
  std::string verdict;
  std::string reason;
  std::optional<Ratio> ratio;
  double baseline_ns = 0, candidate_ns = 0;
  long long pairs = 0, pairs_aside = 0;
  std::string stop;
  double elapsed_s = 0, same_within = 0;
  std::optional<double> flops, bytes, floor_ns, clock_mhz;
  std::vector<Pair> samples;
  std::vector<std::size_t> aside;
};

struct CheatView {
  std::string name, evidence, step, shape;
};

struct RooflineView {
  std::string device, source;
  double peak_gflops = 0, peak_gbs = 0;
};

struct PredictionView {
  std::string shape, headline, dominating;
  double expected_us = 0, low_us = 0, high_us = 0;
  std::string change;  // that would help most; may be empty
};

struct SessionView {
  std::string id;
  std::string started;   // time of the first record
  nlohmann::json about;  // data of the "session" record
  nlohmann::json environment;
  nlohmann::json build;
  std::vector<PlannedStep> plan;
  std::vector<GateView> gates;  // in the order of the plan
  std::vector<CheckView> checks;
  std::vector<PredictionView> predictions;
  std::vector<CorrectnessView> correctness;
  std::vector<ShapeView> shapes;
  std::vector<CheatView> cheats;
  std::vector<std::string> notes;
  std::optional<RooflineView> roofline;
  std::vector<DiagnosisView> diagnoses;                        // the last of each shape
  nlohmann::json diagnosis_records = nlohmann::json::array();  // the same, as written
  std::optional<Ratio> mean;                                   // geometric, over shapes
  std::string mean_verdict;                                    // of the performance gate
  std::string verdict;                                         // "INTERRUPTED" while there is none
  std::string reason, next;
  std::optional<int> exit_code;
  std::optional<double> elapsed_s;
  std::optional<double> own_s;  // of it, neither the user's compiler nor a kernel
  std::size_t records = 0;
  ClimbView climb;  // of an optimisation loop
  Cost cost;
  Money money;

  std::string text(const char* key) const;  // of the "session" record; empty when it is not there
};

// Throws Error (invalid) naming the record in which a field is missing or of another type.
SessionView view_session(const std::string& id, std::span<const Record> records);
SessionView load_session(const SessionFolder& session);  // tolerates a torn last line, changes nothing

}  // namespace dent

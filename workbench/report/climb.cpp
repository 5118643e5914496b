// SPDX-License-Identifier: MIT
#include "report/climb.h"

#include "records/sampling_records.h"

namespace dent {
namespace {

using nlohmann::json;

std::optional<Ratio> ratio_in(const json& data, const char* key) {
  return data.contains(key) ? std::optional(ratio_of(data.at(key))) : std::nullopt;
}

void take_iteration(ClimbView& climb, const json& data) {
  ClimbStep step;
  step.iteration = data.at("iteration");
  step.proposer = data.at("proposer");
  step.phase = data.value("phase", "");
  step.bottleneck = data.value("bottleneck", "");
  step.change = data.at("change");
  step.expected = data.value("expected", "");
  step.pattern = data.value("pattern", "");
  step.patch = data.value("patch", "");
  step.speedup = climb.steps.empty() ? (climb.start ? climb.start->centre : 0) : climb.steps.back().speedup;
  climb.steps.push_back(std::move(step));
}

void take_outcome(ClimbView& climb, const json& data) {
  for (ClimbStep& step : climb.steps) {
    if (step.iteration != data.at("iteration").get<int>()) continue;
    step.ended = true;
    step.kept = data.at("kept");
    step.stage = data.at("stage");
    step.reason = data.at("reason");
    step.commit = data.value("commit", "");
    step.gain = ratio_in(data, "gain");
    step.elapsed_s = data.value("elapsed_s", 0.0);
    step.overhead_s = data.value("overhead_s", 0.0);
    if (step.kept && step.gain) step.speedup *= step.gain->centre;
  }
}

void take_standing(ClimbView& climb, const json& data) {
  const Ratio ratio = ratio_of(data.at("ratio"));
  if (data.value("step", "").rfind("winner", 0) == 0) {
    climb.winner = ratio;
  } else if (!climb.start) {
    climb.start = ratio;
  } else if (!climb.steps.empty()) {
    climb.steps.back().speedup = ratio.centre;
  }
}

}  // namespace

void take_climb(ClimbView& climb, const Record& record) {
  const json& data = record.data;
  if (record.kind == "loop") {
    climb.branch = data.at("branch");
    climb.base = data.at("base");
    if (data.contains("target")) climb.target = data.at("target").get<double>();
  }
  if (record.kind == "iteration") take_iteration(climb, data);
  if (record.kind == "outcome") take_outcome(climb, data);
  if (record.kind == "standing") take_standing(climb, data);
  if (record.kind == "loop_end") climb.ended = data.at("reason");
  if (record.kind == "gain_comparison") {
    climb.gains.push_back({data.at("shape"), data.at("verdict"), ratio_in(data, "ratio")});
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "records/outcome.h"

#include <nlohmann/json.hpp>

#include "records/sampling_records.h"

namespace dent {

using nlohmann::json;

json to_json(const Outcome& outcome) {
  json shapes = json::array();
  for (const ShapeGain& gain : outcome.shapes) {
    shapes.push_back({{"shape", gain.shape},
                      {"ratio", ratio_record(gain.ratio)},
                      {"incumbent_ns", gain.incumbent_ns},
                      {"candidate_ns", gain.candidate_ns}});
  }
  json out{{"kept", outcome.kept},          {"stage", outcome.stage},
           {"reason", outcome.reason},      {"cause", static_cast<int>(outcome.cause)},
           {"build_s", outcome.build_s},    {"kernel_s", outcome.kernel_s},
           {"elapsed_s", outcome.elapsed_s}};
  if (!outcome.next.empty()) out["next"] = outcome.next;
  if (!outcome.last_words.empty()) out["last_words"] = outcome.last_words;
  if (outcome.gain) out["gain"] = ratio_record(*outcome.gain);
  if (!shapes.empty()) out["shapes"] = std::move(shapes);
  return out;
}

Outcome outcome_of(const json& record) {
  Outcome outcome;
  outcome.kept = record.at("kept");
  outcome.stage = record.at("stage");
  outcome.reason = record.at("reason");
  outcome.cause = static_cast<Cause>(record.value("cause", 0));
  outcome.next = record.value("next", "");
  outcome.last_words = record.value("last_words", "");
  outcome.build_s = record.value("build_s", 0.0);
  outcome.kernel_s = record.value("kernel_s", 0.0);
  outcome.elapsed_s = record.value("elapsed_s", 0.0);
  if (record.contains("gain")) outcome.gain = ratio_of(record.at("gain"));
  if (const auto shapes = record.find("shapes"); shapes != record.end()) {
    for (const json& shape : *shapes) {
      outcome.shapes.push_back({shape.at("shape"), ratio_of(shape.at("ratio")), shape.at("incumbent_ns"),
                                shape.at("candidate_ns")});
    }
  }
  return outcome;
}

}  // namespace dent

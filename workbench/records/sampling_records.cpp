// SPDX-License-Identifier: MIT
#include "records/sampling_records.h"

#include <algorithm>

#include "base/error.h"

namespace dent {
namespace {

using nlohmann::json;

// The clocks of one side, when every sample has one.
json clocks(const std::vector<Pair>& pairs, Sample Pair::*side) {
  json list = json::array();
  for (const Pair& pair : pairs) {
    if (!(pair.*side).clock_mhz) return {};
    list.push_back(*(pair.*side).clock_mhz);
  }
  return list;
}

void put_unless_empty(json& record, const char* key, json list) {
  if (!list.empty()) record[key] = std::move(list);
}

}  // namespace

json samples_record(const std::string& shape, const Sampling& sampling) {
  json baseline = json::array(), candidate = json::array(), first = json::array();
  for (const Pair& pair : sampling.pairs) {
    baseline.push_back(pair.baseline.ns);
    candidate.push_back(pair.candidate.ns);
    first.push_back(pair.candidate_first ? 1 : 0);
  }
  json record{{"shape", shape},
              {"baseline_ns", std::move(baseline)},
              {"candidate_ns", std::move(candidate)},
              {"candidate_first", std::move(first)},
              {"baseline_calls", sampling.baseline_calls},
              {"candidate_calls", sampling.candidate_calls}};
  put_unless_empty(record, "baseline_mhz", clocks(sampling.pairs, &Pair::baseline));
  put_unless_empty(record, "candidate_mhz", clocks(sampling.pairs, &Pair::candidate));
  put_unless_empty(record, "aside", sampling.comparison.aside);
  return record;
}

json ratio_record(const Ratio& ratio) {
  return {{"centre", ratio.centre}, {"low", ratio.interval.low}, {"high", ratio.interval.high}};
}

json comparison_record(const std::string& shape, const Sampling& sampling, const SamplingPolicy& policy) {
  const Comparison& c = sampling.comparison;
  json record{{"shape", shape},
              {"verdict", name(c.verdict)},
              {"reason", c.reason},
              {"baseline_ns", c.baseline_ns},
              {"candidate_ns", c.candidate_ns},
              {"pairs", c.pairs},
              {"pairs_aside", c.aside.size()},
              {"stop", name(sampling.stop)},
              {"elapsed_s", sampling.elapsed_s},
              {"steady", sampling.steady},
              {"warm_up_pairs", sampling.warm_up_pairs},
              {"alpha", policy.compare.alpha},
              {"same_within", policy.compare.same_within}};
  if (c.ratio) record["ratio"] = ratio_record(*c.ratio);
  if (c.clock_mhz) record["clock_mhz"] = *c.clock_mhz;
  return record;
}

std::vector<Pair> pairs_of(const json& samples) {
  try {
    const auto baseline = samples.at("baseline_ns").get<std::vector<double>>();
    const auto candidate = samples.at("candidate_ns").get<std::vector<double>>();
    const auto first = samples.at("candidate_first").get<std::vector<int>>();
    if (baseline.size() != candidate.size() || baseline.size() != first.size()) {
      throw Error(ErrorCode::invalid, "a samples record whose lists differ in length");
    }
    std::vector<Pair> pairs(baseline.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i].baseline = {baseline[i], samples.at("baseline_calls")};
      pairs[i].candidate = {candidate[i], samples.at("candidate_calls")};
      pairs[i].candidate_first = first[i] != 0;
      if (samples.contains("baseline_mhz")) pairs[i].baseline.clock_mhz = samples.at("baseline_mhz").at(i);
      if (samples.contains("candidate_mhz")) pairs[i].candidate.clock_mhz = samples.at("candidate_mhz").at(i);
    }
    return pairs;
  } catch (const json::exception& error) {
    throw Error(ErrorCode::invalid, std::string("not a samples record: ") + error.what());
  }
}

Ratio ratio_of(const json& ratio) {
  try {
    return {ratio.at("centre"), {ratio.at("low"), ratio.at("high")}};
  } catch (const json::exception& error) {
    throw Error(ErrorCode::invalid, std::string("not a ratio: ") + error.what());
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// What was sampled as records, and back: "samples", "comparison" and the ratio in "summary".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/sampler.h"

namespace dent {

nlohmann::json samples_record(const std::string& shape, const Sampling& sampling);
nlohmann::json comparison_record(const std::string& shape, const Sampling& sampling,
                                 const SamplingPolicy& policy);

nlohmann::json ratio_record(const Ratio& ratio);

// The pairs of a "samples" record. Throws Error when its lists do not fit together.
std::vector<Pair> pairs_of(const nlohmann::json& samples);
// Of a "ratio" field.
Ratio ratio_of(const nlohmann::json& ratio);

}  // namespace dent

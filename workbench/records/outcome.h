// SPDX-License-Identifier: MIT
// What became of a candidate.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gates/gate.h"
#include "measure/ratio.h"

namespace dent {

struct ShapeGain {
  std::string shape;
  Ratio ratio;  // incumbent time / candidate time
  double incumbent_ns = 0;
  double candidate_ns = 0;
};

struct Outcome {
  bool kept = false;
  std::string
      stage;  // where it ended: refused, build, correctness, sanitize, screening, guard, confirmation, kept
  Cause cause = Cause::none;  // of a failure; a candidate that is merely not faster has none
  std::string reason;         // one line, for people
  std::string next{};
  std::string last_words{};  // of the compiler or the worker
  std::optional<Ratio>
      gain{};  // over the incumbent, geometric mean over shapes; of the confirmation where there is one
  std::vector<ShapeGain> shapes{};
  double build_s = 0;    // seconds: compiling,
  double kernel_s = 0;   // running the kernel, the incumbent and the reference,
  double elapsed_s = 0;  // and all in all
};

nlohmann::json to_json(const Outcome& outcome);
Outcome outcome_of(const nlohmann::json& record);

}  // namespace dent

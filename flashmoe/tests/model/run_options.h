// SPDX-License-Identifier: MIT
// Command line of run_kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dispatch/plan.h"
#include "primitives/model/settings.h"
#include "support/problem.h"

namespace flashmoe::test {

struct RunOptions {
  Shape shape{.q_rows = 128, .kv_rows = 128, .head_dim = 64, .dtype = DType::fp16};
  dispatch::ForwardChoice choice{};
  model::Settings settings{};
  std::string gpu = "H200";
  int sms = 0;
  std::string trace{};  // path of the trace; "" for none
};

extern const char* const kRunUsage;

// Nothing if help was requested. Throws, naming the word, for an unknown one.
std::optional<RunOptions> parse_run_options(const std::vector<std::string>& words);

}  // namespace flashmoe::test

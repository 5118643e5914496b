// SPDX-License-Identifier: MIT
// Runs gradients through plan and launches on the model of a GPU, every address checked against the tensors.
#pragma once

#include <functional>
#include <string>

#include "dispatch/backward.h"
#include "kernels/backward_params.h"
#include "kernels/prepare_lengths/params.h"
#include "kernels/prepare_runs/params.h"
#include "primitives/model/settings.h"
#include "support/backward_problem.h"

namespace flashmoe::test {

struct BackwardOnModel {
  bool deterministic = false;
  bool with_dlse = false;
  int seeds = 2;
  dispatch::BackwardChoice choice{};
};

// Throws model::Failure when a kernel breaks a rule. `main_kernel` takes the place of the plan's own when
// given, and where the problem has lengths, `prepare` and `prepare_rows` those of what comes before it.
using MainKernel = std::function<void(const kernels::BackwardParams&)>;
using PrepareLengths = std::function<void(const kernels::prepare_lengths::Params&)>;
using PrepareRows = std::function<void(const kernels::prepare_runs::SequenceParams&)>;
void run_backward_on_model(BackwardProblem& problem, bool deterministic, const model::Settings& settings,
                           const MainKernel& main_kernel = {}, const dispatch::BackwardChoice& choice = {},
                           const PrepareLengths& prepare = {}, const PrepareRows& prepare_rows = {});

// Builds the problem and runs it under early and late copies and several schedules; the first thing that is
// wrong, or "".
std::string trouble_with_backward(const Shape& shape, const BackwardOnModel& how = {});

}  // namespace flashmoe::test

#define EXPECT_GRADIENTS_ON_MODEL(...) EXPECT_EQ(::flashmoe::test::trouble_with_backward(__VA_ARGS__), "")

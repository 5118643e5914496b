// SPDX-License-Identifier: MIT
// What a session will do, in order, each step with its time box and the rule by which it stops.
#pragma once

#include <string>
#include <vector>

#include "gates/registry.h"
#include "records/session.h"
#include "session/step.h"

namespace dent {

struct PlanRequest {
  std::vector<std::string> gates;     // by name; "-name": not that one, though a shape is slow
  std::vector<std::string> shapes{};  // by name; none: all
  GateOptions options{};
};

// The gates of `dent run`, with more of them or fewer. Throws Error for a name that no gate has, and where
// one is left out that another needs.
std::vector<std::string> gates_of_run(const std::vector<std::string>& with = {},
                                      const std::vector<std::string>& without = {});
// A single gate with all that it needs.
std::vector<std::string> gates_of_command(const Gate& gate);

std::vector<Step> make_plan(const Project& project, const PlanRequest& request);
std::vector<record::PlannedStep> plan_record(const std::vector<Step>& plan);
std::string plan_text(const std::vector<Step>& plan);  // a table for people

}  // namespace dent

// SPDX-License-Identifier: MIT
// Single checks of the machine, each with what was found and how to fix it.
#pragma once

#include <string>
#include <vector>

#include "cell/cell.h"
#include "project/project.h"
#include "records/verdict.h"

namespace dent {

struct Check {
  std::string name;
  StepVerdict verdict = StepVerdict::pass;
  std::string found;
  std::string fix{};  // what to do, if the check did not pass
};

std::vector<Check> compiler_checks(const Project& project);
std::vector<Check> machine_checks(const Project& project);  // cores, load, memory, disk, git
std::vector<Check> wall_checks(const Cell& cell);           // protections around untrusted code
std::vector<Check> python_checks(const Project& project, const std::string& python);
std::vector<Check> gpu_checks(const Project& project);  // one "skipped" if the project needs no GPU

}  // namespace dent

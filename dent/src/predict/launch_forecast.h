// SPDX-License-Identifier: MIT
// Predicts a kernel's behaviour on its GPU before launching it, from the compiler's report and the launch
// rule in the manifest.
#pragma once

#include <string>
#include <vector>

#include "build/ptxas.h"
#include "operators/problem.h"
#include "project/project.h"

namespace dent {

struct LaunchForecast {
  std::vector<record::Prediction> predictions;  // one per shape; empty if the launch or the GPU is unknown
  std::string warning;                          // set for fewer CTAs than SMs
  std::string failure;                          // set for a launch that can't work
  std::string next;                             // what to do about it
};

// Throws Error if an expression of the manifest is wrong or its GPU is unknown. Expressions may also use the
// kernel's tunables.
LaunchForecast foresee(const Kernel& kernel, std::vector<Problem> problems,
                       const std::vector<KernelResources>& kernels);

}  // namespace dent

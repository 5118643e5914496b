// SPDX-License-Identifier: MIT
// Before anything is launched: what the kernel will do on its GPU, from what the compiler said and what the
// manifest says of its launch.
#pragma once

#include <string>
#include <vector>

#include "build/ptxas.h"
#include "operators/problem.h"
#include "project/project.h"

namespace dent {

struct LaunchForecast {
  std::vector<record::Prediction> predictions;  // one a shape; none where the launch or the GPU is not known
  std::string warning;                          // fewer CTAs than SMs; may be empty
  std::string failure;                          // a launch that can't work; may be empty
  std::string next;                             // what to do about it
};

// Throws Error when an expression of the manifest is wrong, or its GPU is not known.
// Expressions may name the kernel's tunables too.
LaunchForecast foresee(const Kernel& kernel, std::vector<Problem> problems,
                       const std::vector<KernelResources>& kernels);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Finds which kernels a call launches, and how, by capturing it into a graph and reading the graph's nodes.
// Needs no profiler permissions.
#pragma once

#include <functional>
#include <vector>

#include "workers/messages.h"
#include "workers/native/cuda_driver.h"

namespace dent {

// In the order of the graph. Throws if the call can't be captured (because it synchronises or allocates) or
// the driver lacks the functions.
std::vector<protocol::GpuLaunch> captured_launches(const CudaDriver& cuda, CuStream stream,
                                                   const std::function<void()>& call);

}  // namespace dent

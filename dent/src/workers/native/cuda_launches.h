// SPDX-License-Identifier: MIT
// Which kernels a call launches, and how: captured into a graph instead of run, and read back from its nodes.
// Needs no permission that a profiler needs.
#pragma once

#include <functional>
#include <vector>

#include "workers/messages.h"
#include "workers/native/cuda_driver.h"

namespace dent {

// In the order of the graph. Throws when the call can't be captured (it synchronises or allocates) or this
// driver can't tell.
std::vector<protocol::GpuLaunch> captured_launches(const CudaDriver& cuda, CuStream stream,
                                                   const std::function<void()>& call);

}  // namespace dent

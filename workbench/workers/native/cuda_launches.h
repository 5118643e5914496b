// SPDX-License-Identifier: MIT
// Which kernels a call launches, and how: captured into a graph instead of run, and read back from its nodes.
// Needs no permission that a profiler needs.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "workers/native/cuda_driver.h"

namespace dent {

// [{"kernel", "ctas", "cta_threads", "registers", "smem_bytes", "local_bytes", "ctas_per_sm"}] in the order
// of the graph. Throws when the call can't be captured (it synchronises or allocates) or this driver can't
// tell.
nlohmann::json captured_launches(const CudaDriver& cuda, CuStream stream, const std::function<void()>& call);

}  // namespace dent

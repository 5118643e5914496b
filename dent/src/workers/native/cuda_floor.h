// SPDX-License-Identifier: MIT
// What an empty kernel takes by each of the GPU's clocks: what they can't see below.
#pragma once

#include <functional>

#include "workers/native/cuda_graph.h"

namespace dent {

struct ClockFloors {
  double events_ns = 0;       // an empty kernel between two events
  double graph_ns = 0;        // one more empty kernel in a graph
  double graph_start_ns = 0;  // what two events around a graph read beside its calls
};

// `lead_in` queues what comes before a timed call, so that the kernels are measured as calls are. Throws
// where the driver can't compile the kernel.
ClockFloors measure_floors(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                           const std::function<void()>& lead_in);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Time that each of the GPU's clocks reads for an empty kernel: the least that it can measure.
#pragma once

#include <functional>

#include "workers/native/cuda_graph.h"

namespace dent {

struct ClockFloors {
  double events_ns = 0;       // an empty kernel between two events
  double graph_ns = 0;        // each further empty kernel in a graph
  double graph_start_ns = 0;  // events around a graph, without its calls
};

// `lead_in` queues what precedes a timed call, so that empty kernels are measured in the same way. Throws if
// the driver can't compile the kernel.
ClockFloors measure_floors(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                           const std::function<void()>& lead_in);

}  // namespace dent

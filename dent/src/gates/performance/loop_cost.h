// SPDX-License-Identifier: MIT
// Time that a native worker's loop adds to each call: reading the clock twice, choosing inputs, adding up.
#pragma once

#include "operators/problem.h"
#include "workers/worker_factory.h"

namespace dent {

// Per call, for as many inputs as the problem has. Measured by our clock, with a worker whose entry does
// nothing and that holds only our code: so it includes machine, build and the worker's clock, and no
// candidate can inflate it.
double loop_cost_ns(WorkerFactory& workers, const Problem& problem);

}  // namespace dent

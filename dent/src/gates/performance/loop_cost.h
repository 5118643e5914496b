// SPDX-License-Identifier: MIT
// What a native worker's loop takes around each call: it reads the clock twice, aims the inputs, adds up.
#pragma once

#include "operators/problem.h"
#include "workers/worker_factory.h"

namespace dent {

// Per call, for as many inputs as the problem has. Measured with a worker whose entry does nothing, in a
// process that holds no code but ours, by our clock: the machine, the build and the worker's own clock are
// in it, and no candidate can make it larger.
double loop_cost_ns(WorkerFactory& workers, const Problem& problem);

}  // namespace dent

// SPDX-License-Identifier: MIT
// One call of a kernel on fresh inputs, and all that can be seen of it.
#pragma once

#include <chrono>
#include <cstdint>

#include "gates/judging/oracle.h"
#include "workers/worker_factory.h"

namespace dent {

// New numbers, drawn from `random`.
CallInputs draw_inputs(WorkerFactory& workers, const Problem& problem, Random& random);

struct Call {
  protocol::Kept kept;  // what was noticed besides the values
  Delivered outputs;
};

// Tells the worker which problem it is about. Before the first call, and after calls of another one.
void set_problem(Worker& worker, const Problem& problem, WorkerFactory& workers, double seconds);

// `settle`: how long after the kernel has returned its outputs are watched for late writes.
Call call_again(Worker& worker, const Problem& problem, const CallInputs& inputs, double seconds,
                std::chrono::milliseconds settle = {});

// Both of these.
Call call_once(Worker& worker, const Problem& problem, const CallInputs& inputs, WorkerFactory& workers,
               double seconds);

}  // namespace dent

// SPDX-License-Identifier: MIT
// One call of a kernel on fresh inputs, and everything observed about it.
#pragma once

#include <chrono>
#include <cstdint>

#include "gates/judging/oracle.h"
#include "workers/worker_factory.h"

namespace dent {

// Draws new input values from `random`.
CallInputs draw_inputs(WorkerFactory& workers, const Problem& problem, Random& random);

struct Call {
  protocol::Kept kept;  // observations besides the values
  Delivered outputs;
};

// Tells the worker its problem. Needed before the first call, and after calls on another problem.
void set_problem(Worker& worker, const Problem& problem, WorkerFactory& workers, double seconds);

// `settle`: how long to watch the outputs for late writes after the kernel has returned.
Call call_again(Worker& worker, const Problem& problem, const CallInputs& inputs, double seconds,
                std::chrono::milliseconds settle = {});

// set_problem(), then call_again().
Call call_once(Worker& worker, const Problem& problem, const CallInputs& inputs, WorkerFactory& workers,
               double seconds);

}  // namespace dent

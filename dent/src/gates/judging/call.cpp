// SPDX-License-Identifier: MIT
#include "gates/judging/call.h"

#include <thread>

namespace dent {

CallInputs draw_inputs(WorkerFactory& workers, const Problem& problem, Random& random) {
  workers.inputs().renew(problem, random.next());
  return workers.inputs().draw(problem, 1, random).front();
}

void set_problem(Worker& worker, const Problem& problem, WorkerFactory& workers, double seconds) {
  worker.resume();
  worker.set_problem(message_for(problem, workers.pool(), 1, false), seconds);
}

Call call_again(Worker& worker, const Problem& problem, const CallInputs& inputs, double seconds,
                std::chrono::milliseconds settle) {
  double wall_ns = 0;
  worker.prepare({inputs.offsets}, seconds);
  worker.go(seconds, wall_ns);
  if (settle.count() > 0) std::this_thread::sleep_for(settle);
  Call call;
  call.kept = worker.keep(0, seconds);
  call.outputs = delivered(worker, problem);
  return call;
}

Call call_once(Worker& worker, const Problem& problem, const CallInputs& inputs, WorkerFactory& workers,
               double seconds) {
  set_problem(worker, problem, workers, seconds);
  return call_again(worker, problem, inputs, seconds);
}

}  // namespace dent

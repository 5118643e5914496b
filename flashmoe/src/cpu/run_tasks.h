// SPDX-License-Identifier: MIT
// The tasks of a plan on its threads.
#pragma once

#include <cstdint>

#include "cpu/thread_pool.h"

namespace flashmoe::cpu {

// body(task, slot) for every task, as ThreadPool::run has it. `core_us`: what one core would need for all.
template <class Body>
void run_tasks(int64_t tasks, int threads, double core_us, const Body& body) {
  if (threads == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task, 0);
  } else {
    ThreadPool::of_process().run(tasks, threads, core_us > kWorthWakingUs, body);
  }
}

}  // namespace flashmoe::cpu

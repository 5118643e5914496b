// SPDX-License-Identifier: MIT
#include "primitives/model/named_barrier.h"

#include <utility>

#include "primitives/model/order.h"
#include "primitives/model/reports.h"

namespace flashmoe::model {
namespace {

// Counts one arrival of the running thread; returns true if it was the last.
bool arrive(int number, int threads, const char* what, const Where& where) {
  note(what, where, number);
  if (number < 1 || number > 15) {
    report(std::string(what) + ": there is no named barrier " + std::to_string(number) + "; they are 1 to 15",
           where);
  }
  if (threads % 32 != 0 || threads < 32 || threads > static_cast<int>(current->block->threads.size())) {
    report(std::string(what) + ": a barrier of " + std::to_string(threads) + " threads in a block of " +
               std::to_string(current->block->threads.size()) + "; it takes whole warps of it",
           where);
  }
  NamedBarrier& barrier = current->block->named_barriers[static_cast<std::size_t>(number)];
  if (barrier.arrived == 0) {
    barrier.threads = threads;
    barrier.where = where;
  } else if (barrier.threads != threads) {
    report(std::string(what) + ": this thread says " + std::to_string(threads) +
               " threads, the first to come to barrier " + std::to_string(number) + ", at " +
               describe(barrier.where) + ", said " + std::to_string(barrier.threads),
           where);
  }
  order_release(barrier.clock);
  if (++barrier.arrived < barrier.threads) return false;
  barrier.arrived = 0;
  return true;
}

}  // namespace
}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

using model::current;

namespace {

// Wakes the waiting threads and gives them the joined clock of all arrivals.
void open(model::NamedBarrier& barrier) {
  barrier.opened = std::exchange(barrier.clock, {});
  for (model::Thread* thread : std::exchange(barrier.waiting, {})) model::wake(*thread);
}

}  // namespace

void named_barrier_sync(int number, int threads, const model::Where& where) {
  const bool last = model::arrive(number, threads, "named_barrier_sync", where);
  model::NamedBarrier& barrier = current->block->named_barriers[static_cast<std::size_t>(number)];
  if (last) {
    open(barrier);
  } else {
    barrier.waiting.push_back(current);
    model::wait("named_barrier_sync", where, number);
  }
  model::order_acquire(barrier.opened);
  model::order_warp_met(*current->warp);
}

void named_barrier_arrive(int number, int threads, const model::Where& where) {
  if (!model::arrive(number, threads, "named_barrier_arrive", where)) return;
  open(current->block->named_barriers[static_cast<std::size_t>(number)]);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

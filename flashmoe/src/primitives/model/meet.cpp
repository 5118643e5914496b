// SPDX-License-Identifier: MIT
// Operations of several threads: warp-wide operations and the block's barrier.
#include "primitives/model/barrier.h"
#include "primitives/model/machine.h"
#include "primitives/model/order.h"
#include "primitives/model/reports.h"

namespace flashmoe::model {

// Reports why this lane can't take part. A separate function to keep the stack frame of meet() small.
[[gnu::noinline]] void check_meeting(const char* name, const Where& where) {
  const Warp& warp = *current->warp;
  if (warp.exited != 0) {
    report(std::string(name) + ": a lane of this warp has already ended, and all 32 must take part", where);
  }
  if (warp.lanes != 0xFFFFFFFFU) {
    report(std::string(name) + ": this warp has fewer than 32 lanes, and all 32 must take part", where);
  }
  if (warp.collective.name != nullptr) {
    report(std::string("the warp has diverged: this lane is in ") + name + ", others are in " +
               warp.collective.name + " at " + describe(warp.collective.where),
           where);
  }
}

void meet(const char* name, void (*perform)(void* const* arguments), void* arguments, const Where& where) {
  Warp& warp = *current->warp;
  Collective& pending = warp.collective;
  note(name, where);
  if (warp.exited != 0 || warp.lanes != 0xFFFFFFFFU) check_meeting(name, where);
  if (pending.name == nullptr) {
    pending.name = name;
    pending.perform = perform;
    pending.arrived = 0;
    pending.where = where;
  } else if (pending.perform != perform || pending.where.line() != where.line() ||
             pending.where.column() != where.column()) {
    check_meeting(name, where);
  }
  pending.arguments[static_cast<std::size_t>(current->lane)] = arguments;
  pending.arrived |= 1U << current->lane;
  if (pending.arrived != warp.lanes) {
    wait(name, where);
    return;
  }
  perform(pending.arguments.data());
  pending.name = nullptr;
  wake_lanes(warp, warp.lanes & ~(1U << current->lane));
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void sync_block(const model::Where& where) {
  using model::current;
  model::note("sync_block", where);
  model::BlockBarrier& barrier = current->block->barrier;
  if (++barrier.arrived < static_cast<int>(current->block->threads.size())) {
    barrier.waiting.push_back(current);
    model::wait("sync_block", where);
    return;
  }
  barrier.arrived = 0;
  model::order_block_met(*current->block);
  for (model::Thread* thread : barrier.waiting) model::wake(*thread);
  barrier.waiting.clear();
}

void sync_warp(const model::Where& where) {
  model::meet(
      "sync_warp", [](void* const*) { model::order_warp_met(*model::current->warp); }, nullptr, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
// Happens-before checks: barriers and waits must order every access to shared memory against every earlier
// access that conflicts with it. A violation is reported even if this run's schedule happened to avoid it.
//
// The checked model links order.cpp, and its kernels are compiled so that plain loads and stores call these
// functions too. The unchecked model links order_unchecked.cpp, in which all of them are empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/model/machine.h"

namespace flashmoe::model {

bool order_is_checked();

// Starts a new cluster of blocks: nothing is written and no warps are ordered yet.
void order_begin(const Cluster& cluster);

// The running thread reads or writes. `by_all_lanes` is true in warp-wide operations, in which every lane
// takes part.
void order_read(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where);
void order_write(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where);

// The running thread has issued a 16-byte copy to `place`; the running thread has waited for that copy.
void order_copy_issued(const std::byte* place, const Where& where);
void order_copy_landed(const std::byte* place, const Where& where);

// All threads of the block, or all lanes of a warp, have met at a barrier: everything they did before happens
// before everything they do next.
void order_block_met(const Block& block);
void order_warp_met(const Warp& warp);

// Release: joins the running warp's clock into `clock`; later actions are not covered. Acquire: joins `clock`
// into the running warp's.
void order_release(Clock& clock);
void order_acquire(const Clock& clock);
void order_join(Clock& clock, const Clock& other);

// The running thread has initialised a barrier; has issued an asynchronous store to another block that the
// barrier's current phase will report; has waited for all phases of the barrier that are over.
void order_mbarrier_made(Mbarrier& barrier);
void order_store_issued(const Place& to, std::size_t bytes, const Mbarrier& barrier, const Where& where);
void order_mbarrier_waited(Mbarrier& barrier, const Where& where);

// The running thread arrives. If it arrived in an earlier phase, it must know that this phase is over,
// because this arrival could otherwise count for it.
void order_arrives(Mbarrier& barrier, const Where& where);

// A phase ends. Returns "", or an error if a wait for the previous phase may still be to come: it would see
// the parity of this phase and never return.
std::string order_phase_ends(const Mbarrier& barrier);

// Asynchronous reads by the warpgroup's products or by the running warp's TMA stores, numbered from 1. A
// thread that has waited for number n knows that reads 1 to n are over.
enum class Reader { product, tma_store };
void order_async_read(Reader reader, const std::byte* place, std::size_t bytes, uint64_t number,
                      const Where& where);
void order_waited_for(Reader reader, uint64_t number);

}  // namespace flashmoe::model

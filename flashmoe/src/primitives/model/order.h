// SPDX-License-Identifier: MIT
// Happens-before: every access to shared memory must be ordered, by barriers and waits, against every earlier
// access that it conflicts with. Checked on what the program says, not on what one schedule happened to do.
//
// The checked model is linked with order.cpp, and its kernels are compiled so that plain loads and stores
// arrive here too. The plain one is linked with order_unchecked.cpp, where all of this is empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/model/machine.h"

namespace flashmoe::model {

bool order_is_checked();

// A fresh cluster of blocks: nothing written, nobody has met anybody.
void order_begin(const Cluster& cluster);

// The current thread reads or writes. `by_all_lanes`: a collective, in which every lane of the warp takes
// part.
void order_read(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where);
void order_write(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where);

// The current thread has issued a copy of 16 bytes; has waited for it.
void order_copy_issued(const std::byte* place, const Where& where);
void order_copy_landed(const std::byte* place, const Where& where);

// All threads of the block, or all lanes of a warp, have met: what each did before is before what each does
// next.
void order_block_met(const Block& block);
void order_warp_met(const Warp& warp);

// What the current warp knows goes into the clock, and what it does from now on does not; the clock's
// knowledge goes to the warp.
void order_release(Clock& clock);
void order_acquire(const Clock& clock);
void order_join(Clock& clock, const Clock& other);

// The current thread has made a barrier; has had bytes sent to a block asynchronously, as the barrier's
// phase at hand will tell; has waited for all phases of it that are over.
void order_mbarrier_made(Mbarrier& barrier);
void order_store_issued(const Place& to, std::size_t bytes, const Mbarrier& barrier, const Where& where);
void order_mbarrier_waited(Mbarrier& barrier, const Where& where);

// The current thread arrives. Where it has arrived before it must know that that phase is over, or this
// arrival may count for it.
void order_arrives(Mbarrier& barrier, const Where& where);

// A phase of the barrier ends. "" or what is wrong: a wait for the phase before it that may come only now
// would take the new phase for the old one, whose parity is the other, and wait for good.
std::string order_phase_ends(const Mbarrier& barrier);

// Asynchronous reads, by the warpgroup's products or the current warp's TMA stores. They
// are numbered from 1; who has waited for a number knows that it, and all below, are over.
enum class Reader { product, tma_store };
void order_async_read(Reader reader, const std::byte* place, std::size_t bytes, uint64_t number,
                      const Where& where);
void order_waited_for(Reader reader, uint64_t number);

}  // namespace flashmoe::model

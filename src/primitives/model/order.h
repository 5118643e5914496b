// SPDX-License-Identifier: MIT
// Happens-before: every access to shared memory must be ordered, by barriers and waits, against every earlier
// access that it conflicts with. Checked on what the program says, not on what one schedule happened to do.
//
// In the checked build of the model (FLASHMOE_MODEL_CHECKED) kernels are compiled so that plain loads and
// stores arrive here too. In the plain build all of this is empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/model/machine.h"

namespace flashmoe::model {

#ifdef FLASHMOE_MODEL_CHECKED

inline constexpr bool kOrderIsChecked = true;

// A fresh cluster of blocks: nothing written, nobody has met anybody.
void order_begin(const Cluster& cluster);

// The current thread reads or writes. `by_all_lanes`: a collective, in which every lane of the warp takes
// part.
void order_read(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where);
void order_write(const std::byte* place, std::size_t bytes, const Where& where);

// The current thread has issued a copy of 16 bytes; has waited for it.
void order_copy_issued(const std::byte* place, const Where& where);
void order_copy_landed(const std::byte* place, const Where& where);

// All threads of the block, or all lanes of a warp, have met: what each did before is before what each does
// next.
void order_block_met(const Block& block);
void order_warp_met(const Warp& warp);

// The current thread has made a barrier; has stored into a block behind its back, as the barrier's phase at
// hand will tell; has waited for all phases of it that are over.
void order_mbarrier_made(Mbarrier& barrier);
void order_store_issued(const Place& to, std::size_t bytes, const Mbarrier& barrier, const Where& where);
void order_mbarrier_waited(const Mbarrier& barrier);

#else

inline constexpr bool kOrderIsChecked = false;
inline void order_begin(const Cluster&) {}
inline void order_read(const std::byte*, std::size_t, bool, const Where&) {}
inline void order_write(const std::byte*, std::size_t, const Where&) {}
inline void order_copy_issued(const std::byte*, const Where&) {}
inline void order_copy_landed(const std::byte*, const Where&) {}
inline void order_block_met(const Block&) {}
inline void order_warp_met(const Warp&) {}
inline void order_mbarrier_made(Mbarrier&) {}
inline void order_store_issued(const Place&, std::size_t, const Mbarrier&, const Where&) {}
inline void order_mbarrier_waited(const Mbarrier&) {}

#endif

}  // namespace flashmoe::model

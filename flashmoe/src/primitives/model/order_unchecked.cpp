// SPDX-License-Identifier: MIT
// Empty versions of the functions of order.cpp: the unchecked model links this file instead, so that the rest
// of the machine is compiled once for both.
#include "primitives/model/order.h"

namespace flashmoe::model {

bool order_is_checked() { return false; }
void order_begin(const Cluster&) {}
void order_read(const std::byte*, std::size_t, bool, const Where&) {}
void order_write(const std::byte*, std::size_t, bool, const Where&) {}
void order_copy_issued(const std::byte*, const Where&) {}
void order_copy_landed(const std::byte*, const Where&) {}
void order_block_met(const Block&) {}
void order_warp_met(const Warp&) {}
void order_release(Clock&) {}
void order_acquire(const Clock&) {}
void order_join(Clock&, const Clock&) {}
void order_mbarrier_made(Mbarrier&) {}
void order_store_issued(const Place&, std::size_t, const Mbarrier&, const Where&) {}
void order_mbarrier_waited(Mbarrier&, const Where&) {}
void order_arrives(Mbarrier&, const Where&) {}
std::string order_phase_ends(const Mbarrier&) { return ""; }
void order_async_read(Reader, const std::byte*, std::size_t, uint64_t, const Where&) {}
void order_waited_for(Reader, uint64_t) {}

}  // namespace flashmoe::model

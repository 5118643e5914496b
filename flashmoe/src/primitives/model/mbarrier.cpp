// SPDX-License-Identifier: MIT
// mbarriers, kept in a table next to the shared memory whose words they represent, and stores between blocks
// in their least convenient legal timing: a late store lands only when no thread of the cluster can go on,
// and its destination holds NaN patterns from the moment of issue.
#include "primitives/model/mbarrier.h"

#include <array>
#include <cstring>
#include <utility>

#include "primitives/model/order.h"
#include "primitives/model/reports.h"
#include "primitives/model/settings.h"

namespace flashmoe::model {
namespace {

constexpr std::size_t kBarrierBytes = 8;

Mbarrier& own(uint32_t address, const char* what, const Where& where) {
  if (address >> kRankShift != 0) {
    report(std::string(what) + ": the mbarrier lies in another block's shared memory", where);
  }
  note(what, where, int64_t{address} - kSharedWindow);
  Mbarrier& barrier = mbarrier_at(*current->block, address, what, where);
  order_read(shared_place(address, kBarrierBytes, what, where), kBarrierBytes, false, where);
  return barrier;
}

// Ends the phase if everything it waits for has come. Returns what is wrong with ending it now, or "".
std::string settle(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return "";
  const std::string wrong = order_phase_ends(barrier);
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  order_join(barrier.completed, barrier.arriving);
  for (Thread* thread : std::exchange(barrier.waiting, {})) wake(*thread);
  return wrong;
}

// Counts one arrival of the running thread.
void arrive(uint32_t address, uint32_t bytes, const char* what, const Where& where) {
  Mbarrier& barrier = own(address, what, where);
  if (barrier.pending == 0) report(std::string(what) + ": more arrivals than the phase takes", where);
  order_arrives(barrier, where);
  order_release(barrier.arriving);
  barrier.bytes += bytes;
  --barrier.pending;
  if (barrier.pending == 0 && barrier.bytes < 0) {
    report(std::string(what) + ": " + std::to_string(-barrier.bytes) +
               " more bytes have landed than are expected",
           where);
  }
  if (const std::string wrong = settle(barrier); !wrong.empty()) report(wrong, where);
}

// One st.async that has not landed yet.
struct RemoteStore {
  Place to;
  std::array<std::byte, 16> value;
  std::size_t bytes;
  uint32_t barrier;  // address in the destination's block
  unsigned from;     // rank of the sender
  Where where;
  uint64_t issued;  // step of issue, for the trace
};

// Performs the store. Returns what is wrong with it, or "".
std::string land(const RemoteStore& store) {
  const std::string from = "st_async by block " + std::to_string(store.from) + " at " + describe(store.where);
  if (store.to.block->ended()) {
    return from + " lands in block " + std::to_string(store.to.block->rank) +
           " of the cluster, which has ended";
  }
  std::memcpy(store.to.data, store.value.data(), store.bytes);
  if (tracing) trace_async("st_async", store.where, *store.to.block, store.issued);
  return bytes_landed(store.to.block->mbarriers.at(store.barrier), store.bytes, from);
}

void store_async(uint32_t to, const void* value, std::size_t bytes, uint32_t barrier, const char* what,
                 const Where& where) {
  note(what, where);
  const Place place = remote_place(to, bytes, what, where);
  const Place signal = remote_place(barrier, kBarrierBytes, what, where);
  if (place.block != signal.block)
    report(std::string(what) + ": data and mbarrier lie in different blocks", where);
  const Mbarrier& told = mbarrier_at(*signal.block, signal.address, what, where);
  if (signal.block != current->block &&
      (told.published_by == 0 || current->cluster_waits < told.published_by)) {
    report(std::string(what) + ": the mbarrier's init at " + describe(told.where) +
               " is not ordered before this store: it takes fence_mbarrier_init, then the cluster's barrier",
           where);
  }
  order_store_issued(place, bytes, told, where);
  RemoteStore store{place, {}, bytes, signal.address, current->block->rank, where, tracing ? trace_now() : 0};
  std::memcpy(store.value.data(), value, bytes);
  if (settings().stores == CopyTime::late) std::memset(place.data, 0xFF, bytes);
  run_async(
      settings().stores, [store] { return land(store); }, where);
}

}  // namespace

Mbarrier& mbarrier_at(Block& block, uint32_t address, const char* what, const Where& where) {
  const auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end()) {
    report(std::string(what) + ": there is no initialised mbarrier at shared offset " +
               std::to_string(int64_t{address} - kSharedWindow),
           where);
  }
  return found->second;
}

Mbarrier& mbarrier_to_tell(uint32_t address, const char* what, const Where& where) {
  Mbarrier& told = mbarrier_at(*current->block, address, what, where);
  if (told.fenced_by == nullptr) {
    report(std::string(what) + ": the mbarrier's init at " + describe(told.where) +
               " may not be known to the copy engine: it takes fence_mbarrier_init",
           where);
  }
  return told;
}

std::string bytes_landed(Mbarrier& barrier, std::size_t bytes, const std::string& from) {
  barrier.bytes -= static_cast<int64_t>(bytes);
  if (barrier.pending == 0 && barrier.bytes < 0)
    return from + " brings more bytes than its mbarrier was told to expect";
  return settle(barrier);
}

void check_mbarriers_at_end(const Block& block) {
  for (const auto& [address, barrier] : block.mbarriers) {
    if (barrier.bytes == 0) continue;
    report("a block ends while its mbarrier at shared offset " + std::to_string(address - kSharedWindow) +
               " still expects " + std::to_string(barrier.bytes) + " bytes",
           barrier.where);
  }
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

using model::current;

void mbarrier_init(uint32_t barrier, uint32_t arrivals, const model::Where& where) {
  model::note("mbarrier_init", where, int64_t{barrier} - model::kSharedWindow);
  const std::byte* word = model::shared_place(barrier, model::kBarrierBytes, "mbarrier_init", where);
  if (arrivals == 0) model::report("mbarrier_init: a phase needs at least one arrival", where);
  const auto [place, is_new] = current->block->mbarriers.try_emplace(barrier);
  if (!is_new) model::report("mbarrier_init: this mbarrier is already initialised", where);
  model::Mbarrier& made = place->second;
  made.arrivals = made.pending = arrivals;
  made.init_by = current;
  made.where = where;
  model::order_write(word, model::kBarrierBytes, false, where);
  model::order_mbarrier_made(made);
}

void fence_mbarrier_init(const model::Where& where) {
  model::note("fence_mbarrier_init", where);
  for (auto& [address, barrier] : current->block->mbarriers) {
    if (barrier.init_by == current) barrier.fenced_by = current;
  }
}

void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes, const model::Where& where) {
  model::arrive(barrier, bytes, "mbarrier_arrive_expect_tx", where);
}

void mbarrier_arrive(uint32_t barrier, const model::Where& where) {
  model::arrive(barrier, 0, "mbarrier_arrive", where);
}

void mbarrier_wait(uint32_t barrier, uint32_t parity, const model::Where& where) {
  model::Mbarrier& b = model::own(barrier, "mbarrier_wait", where);
  if (parity > 1)
    model::report("mbarrier_wait: the parity is " + std::to_string(parity) + ", and 0 or 1 is needed", where);
  while ((b.phase & 1) == parity) {
    b.waiting.push_back(current);
    model::wait("mbarrier_wait", where, int64_t{barrier} - model::kSharedWindow, static_cast<int>(parity));
  }
  model::order_mbarrier_waited(b, where);
}

void st_async_16(uint32_t to, const float (&value)[4], uint32_t barrier, const model::Where& where) {
  model::store_async(to, value, 16, barrier, "st_async_16", where);
}

void st_async_8(uint32_t to, const float (&value)[2], uint32_t barrier, const model::Where& where) {
  model::store_async(to, value, 8, barrier, "st_async_8", where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

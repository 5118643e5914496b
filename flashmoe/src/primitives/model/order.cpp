// SPDX-License-Identifier: MIT
// Keeps a vector clock per warp, and for every 4 bytes of shared memory the last write and reads with their
// clocks. Accesses of two warps must be ordered by a barrier between them, those of two lanes of a warp by a
// warp barrier. Clocks also have components for mbarriers (asynchronous writers: the time is the phase) and
// for a warp's asynchronous readers (the time is the operation that it has waited for).
#include "primitives/model/order.h"

#include <algorithm>

#include "primitives/model/reports.h"

namespace flashmoe::model {
namespace {

constexpr std::size_t kCellBytes = 4;
constexpr int kAllLanes = -1;

// One read or write. Clocks begin at 1; 0 means never.
struct Access {
  uint32_t clock = 0;     // the writer's or reader's own component of its clock
  uint32_t meetings = 0;  // warp barriers that its warp had passed
  int16_t who = 0;        // component of the clocks
  int16_t lane = 0;
  Where where{};
};

struct Cell {
  uint64_t cluster = 0;  // cluster that filled this cell; older contents are ignored
  Access write{};
  const Thread* copying = nullptr;  // thread whose cp.async to here is in flight
  Where copy_issued{};
  const Thread* writer = nullptr;  // last ordinary store's thread
  uint64_t writer_fences = 0;      // proxy fences it had passed then
};

// Components of the clocks, in this order: warps of the cluster, products of its warpgroups, TMA stores of
// its warps, and each mbarrier when it is initialised.
std::size_t warps = 0;
std::size_t warps_per_block = 0;
std::size_t groups_per_block = 0;
std::size_t first_barrier = 0;
std::size_t readers_per_cell = 0;  // warps of a block, products of its warpgroups, TMA stores
std::size_t cells_per_block = 0;
uint64_t cluster_number = 0;
std::vector<Cell> cells;         // of all blocks of the cluster
std::vector<Access> reads;       // [cell][reader]
std::vector<Clock> seen;         // [warp]: clock up to which the warp has seen each component
std::vector<uint32_t> meetings;  // [warp]: warp barriers passed

std::size_t number_of(const Warp& warp) {
  return warp.block->rank * warps_per_block + static_cast<std::size_t>(warp.index);
}

std::size_t component_of(Reader reader) {
  const std::size_t warp = number_of(*current->warp);
  return reader == Reader::product ? warps + current->block->rank * groups_per_block +
                                         static_cast<std::size_t>(current->warp->index) / 4
                                   : warps + groups_per_block * (warps / warps_per_block) + warp;
}

Cell& cell_at(std::size_t index) {
  Cell& cell = cells[index];
  if (cell.cluster != cluster_number) {
    cell = {.cluster = cluster_number};
    std::fill_n(reads.begin() + static_cast<std::ptrdiff_t>(index * readers_per_cell), readers_per_cell,
                Access{});
  }
  return cell;
}

Access access_now(int lane, const Where& where) {
  const std::size_t warp = number_of(*current->warp);
  return {seen[warp][warp], meetings[warp], static_cast<int16_t>(warp), static_cast<int16_t>(lane), where};
}

// Whether `earlier` happens before `now` in every schedule.
bool before(const Access& earlier, const Access& now) {
  if (earlier.clock == 0) return true;
  if (earlier.who != now.who)
    return seen[static_cast<std::size_t>(now.who)][static_cast<std::size_t>(earlier.who)] >= earlier.clock;
  const bool same_lane = earlier.lane == now.lane && now.lane != kAllLanes;
  return same_lane || meetings[static_cast<std::size_t>(now.who)] > earlier.meetings;
}

std::string whose(const Access& access) {
  const auto number = static_cast<std::size_t>(access.who);
  if (number >= first_barrier) return "a copy or store issued at " + describe(access.where);
  if (number >= warps) return "what was issued at " + describe(access.where);
  const std::string lane = access.lane == kAllLanes ? "all lanes" : "lane " + std::to_string(access.lane);
  return "warp " + std::to_string(number % warps_per_block) + ", " + lane + " near " + describe(access.where);
}

const char* what_is_missing(const Access& earlier, const Access& now) {
  const auto number = static_cast<std::size_t>(earlier.who);
  if (number >= first_barrier) return "no mbarrier_wait between the two";
  if (number >= warps) return "no wait for its end between the two";
  return earlier.who == now.who ? "no sync_warp between the two" : "no barrier between the two";
}

std::string at(std::size_t cell) {
  return "shared memory at offset " + std::to_string(cell % cells_per_block * kCellBytes);
}

void check_write(std::size_t index, const Access& now) {
  const Cell& cell = cell_at(index);
  if (cell.copying != nullptr) {
    report("race: writes " + at(index) + ", which a cp.async issued at " + describe(cell.copy_issued) +
               " is filling",
           now.where);
  }
  if (!before(cell.write, now)) {
    report("race: writes " + at(index) + ", as did " + whose(cell.write) + "; " +
               what_is_missing(cell.write, now),
           now.where);
  }
  for (std::size_t reader = 0; reader < readers_per_cell; ++reader) {
    const Access& read = reads[index * readers_per_cell + reader];
    if (!before(read, now)) {
      report("race: overwrites " + at(index) + ", which " + whose(read) + " reads; " +
                 what_is_missing(read, now),
             now.where);
    }
  }
}

void check_read(std::size_t index, const Access& now) {
  const Cell& cell = cell_at(index);
  if (cell.copying != nullptr) {
    report("race: reads " + at(index) + ", which a cp.async issued at " + describe(cell.copy_issued) +
               " may still be filling",
           now.where);
  }
  if (cell.write.clock == 0) report("reads " + at(index) + ", which was never written", now.where);
  if (!before(cell.write, now)) {
    report("race: reads " + at(index) + ", which " + whose(cell.write) + " writes; " +
               what_is_missing(cell.write, now),
           now.where);
  }
}

template <class Each>
void each_cell(const Block& block, const std::byte* place, std::size_t bytes, Each each) {
  const auto offset = static_cast<std::size_t>(place - block.smem);
  const std::size_t base = block.rank * cells_per_block;
  for (std::size_t i = offset / kCellBytes; i <= (offset + bytes - 1) / kCellBytes; ++i) each(base + i);
}

template <class Each>
void each_cell(const std::byte* place, std::size_t bytes, Each each) {
  each_cell(*current->block, place, bytes, each);
}

}  // namespace

bool order_is_checked() { return true; }

void order_begin(const Cluster& cluster) {
  const Block& one = cluster.blocks.front();
  warps_per_block = one.warps.size();
  groups_per_block = (warps_per_block + 3) / 4;
  warps = cluster.blocks.size() * warps_per_block;
  first_barrier = warps + cluster.blocks.size() * groups_per_block + warps;
  readers_per_cell = warps_per_block + groups_per_block + 1;
  cells_per_block = (one.smem_bytes + kCellBytes - 1) / kCellBytes;
  ++cluster_number;
  if (cells.size() < cluster.blocks.size() * cells_per_block)
    cells.resize(cluster.blocks.size() * cells_per_block);
  if (reads.size() < cells.size() * readers_per_cell) reads.resize(cells.size() * readers_per_cell);
  seen.assign(warps, Clock(first_barrier, 0));
  for (std::size_t w = 0; w < warps; ++w) seen[w][w] = 1;
  meetings.assign(warps, 0);
}

void order_read(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where) {
  const Access now = access_now(by_all_lanes ? kAllLanes : current->lane, where);
  each_cell(place, bytes, [&](std::size_t index) {
    check_read(index, now);
    Access& read = reads[index * readers_per_cell + static_cast<std::size_t>(current->warp->index)];
    // Two lanes that read between the same warp barriers become "all lanes": a writer must then pass one.
    const bool joins_another =
        read.clock == now.clock && read.meetings == now.meetings && read.lane != now.lane;
    read = now;
    if (joins_another) read.lane = kAllLanes;
  });
}

void order_write(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where) {
  const Access now = access_now(by_all_lanes ? kAllLanes : current->lane, where);
  each_cell(place, bytes, [&](std::size_t index) {
    check_write(index, now);
    cells[index].write = now;
    cells[index].writer = current;
    cells[index].writer_fences = current->proxy_fences;
  });
}

void order_copy_issued(const std::byte* place, const Where& where) {
  const Access now = access_now(current->lane, where);
  each_cell(place, 16, [&](std::size_t index) {
    check_write(index, now);
    cells[index].copying = current;
    cells[index].copy_issued = where;
  });
}

void order_copy_landed(const std::byte* place, const Where& where) {
  const Access now = access_now(current->lane, where);
  each_cell(place, 16, [&](std::size_t index) {
    Cell& cell = cell_at(index);
    cell.copying = nullptr;
    cell.write = now;
    cell.writer = current;
    cell.writer_fences = current->proxy_fences;
  });
}

void order_block_met(const Block& block) {
  Clock all;
  for (const Warp& warp : block.warps) order_join(all, seen[number_of(warp)]);
  for (const Warp& warp : block.warps) {
    const std::size_t number = number_of(warp);
    seen[number] = all;
    ++seen[number][number];
    order_warp_met(warp);
  }
}

void order_warp_met(const Warp& warp) { ++meetings[number_of(warp)]; }

void order_join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void order_release(Clock& clock) {
  const std::size_t warp = number_of(*current->warp);
  order_join(clock, seen[warp]);
  ++seen[warp][warp];
}

void order_acquire(const Clock& clock) { order_join(seen[number_of(*current->warp)], clock); }

void order_mbarrier_made(Mbarrier& barrier) {
  barrier.number = static_cast<int16_t>(seen.front().size());
  for (Clock& clock : seen) clock.push_back(0);
  barrier.last_waits.assign(warps, {});
  barrier.last_arrivals.assign(current->block->threads.size(), 0);
}

void order_arrives(Mbarrier& barrier, const Where& where) {
  uint64_t& last = barrier.last_arrivals[static_cast<std::size_t>(current->index)];
  const Clock& known = seen[number_of(*current->warp)];
  if (known[static_cast<std::size_t>(barrier.number)] < last) {
    report("race: this thread has arrived at the mbarrier before, in phase " + std::to_string(last - 1) +
               ", and nothing tells it that that phase is over: the arrival may count for it a second time",
           where);
  }
  last = barrier.phase + 1;
}

void order_store_issued(const Place& to, std::size_t bytes, const Mbarrier& barrier, const Where& where) {
  const Access now = access_now(current->lane, where);
  each_cell(*to.block, to.data, bytes, [&](std::size_t index) {
    check_write(index, now);
    cells[index].write = {static_cast<uint32_t>(barrier.phase) + 1, 0, barrier.number, kAllLanes, where};
    cells[index].writer = nullptr;
  });
}

void order_mbarrier_waited(Mbarrier& barrier, const Where& where) {
  const std::size_t warp = number_of(*current->warp);
  order_acquire(barrier.completed);
  uint32_t& known = seen[warp][static_cast<std::size_t>(barrier.number)];
  known = std::max(known, static_cast<uint32_t>(barrier.phase));
  if (current->lane == 0) barrier.last_waits[warp] = {barrier.phase, seen[warp][warp], where};
}

std::string order_phase_ends(const Mbarrier& barrier) {
  for (std::size_t warp = 0; warp < warps; ++warp) {
    const Mbarrier::Wait& wait = barrier.last_waits[warp];
    const uint32_t known = warp < barrier.arriving.size() ? barrier.arriving[warp] : 0;
    // `phase` is the phase that ends now; the wait in question awaited the end of the phase before.
    if (wait.clock == 0 || wait.phase != barrier.phase || known >= wait.clock) continue;
    return "the mbarrier made at " + describe(barrier.where) + " may move on by a phase before warp " +
           std::to_string(warp % warps_per_block) + " has seen the one that it waits for at " +
           describe(wait.where) + ", and that wait then never ends; nothing orders the two";
  }
  return "";
}

void order_async_read(Reader reader, const std::byte* place, std::size_t bytes, uint64_t number,
                      const Where& where) {
  const Access now = access_now(kAllLanes, where);
  const Access read{static_cast<uint32_t>(number), 0, static_cast<int16_t>(component_of(reader)), kAllLanes,
                    where};
  const std::size_t slot =
      warps_per_block +
      (reader == Reader::product ? static_cast<std::size_t>(current->warp->index) / 4 : groups_per_block);
  each_cell(place, bytes, [&](std::size_t index) {
    check_read(index, now);
    const Cell& cell = cells[index];
    if (cell.writer != nullptr && cell.writer->proxy_fences == cell.writer_fences) {
      report("reads " + at(index) + " by the asynchronous proxy, without a fence_proxy_async by " +
                 whose(cell.write) + ", which wrote it by ordinary stores",
             where);
    }
    reads[index * readers_per_cell + slot] = read;
  });
}

void order_waited_for(Reader reader, uint64_t number) {
  uint32_t& known = seen[number_of(*current->warp)][component_of(reader)];
  known = std::max(known, static_cast<uint32_t>(number));
}

}  // namespace flashmoe::model

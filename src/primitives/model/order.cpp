// SPDX-License-Identifier: MIT
// A vector clock per warp, and for every 4 bytes of shared memory who wrote and read it last, and when.
// Between warps a meeting of both is needed; between lanes of one warp a meeting of the warp. An mbarrier is
// a writer too, with its phases as clock: what was stored in a phase is known to whoever has waited for it.
#include "primitives/model/order.h"

#ifdef FLASHMOE_MODEL_CHECKED

#include <algorithm>

#include "primitives/model/reports.h"

namespace flashmoe::model {
namespace {

constexpr std::size_t kCellBytes = 4;
constexpr int kAllLanes = -1;

// Clocks begin at 1; 0 means never.
struct Access {
  uint32_t clock = 0;     // its warp's own component of the clock
  uint32_t meetings = 0;  // of its warp, so far
  int16_t warp = 0;       // of the cluster; or a barrier
  int16_t lane = 0;
  Where where{};
};

struct Cell {
  Access write;
  const Thread* copying = nullptr;  // whose cp.async is under way
  Where copy_issued{};
};

std::size_t warps_per_block = 0;
std::size_t cells_per_block = 0;
std::vector<Cell> cells;    // of all blocks
std::vector<Access> reads;  // [cell][warp of its block]
std::vector<std::vector<uint32_t>>
    seen;                        // [warp][other warp, or barrier]: what of the other is before this one
std::vector<uint32_t> meetings;  // [warp]

std::size_t number_of(const Warp& warp) {
  return warp.block->rank * warps_per_block + static_cast<std::size_t>(warp.index);
}

Access access_now(int lane, const Where& where) {
  const std::size_t warp = number_of(*current->warp);
  return {seen[warp][warp], meetings[warp], static_cast<int16_t>(warp), static_cast<int16_t>(lane), where};
}

// Whether `earlier` is certain to be over before what happens now.
bool before(const Access& earlier, const Access& now) {
  if (earlier.clock == 0) return true;
  if (earlier.warp != now.warp)
    return seen[static_cast<std::size_t>(now.warp)][static_cast<std::size_t>(earlier.warp)] >= earlier.clock;
  const bool same_lane = earlier.lane == now.lane && now.lane != kAllLanes;
  return same_lane || meetings[static_cast<std::size_t>(now.warp)] > earlier.meetings;
}

std::string whose(const Access& access) {
  const auto number = static_cast<std::size_t>(access.warp);
  if (number >= seen.size()) return "another block by an st_async near " + describe(access.where);
  const std::string lane = access.lane == kAllLanes ? "all lanes" : "lane " + std::to_string(access.lane);
  return "warp " + std::to_string(number % warps_per_block) + ", " + lane + " near " + describe(access.where);
}

const char* what_is_missing(const Access& earlier, const Access& now) {
  if (static_cast<std::size_t>(earlier.warp) >= seen.size()) return "no mbarrier_wait between the two";
  return earlier.warp == now.warp ? "no sync_warp between the two" : "no barrier between the two";
}

std::string at(std::size_t cell) {
  return "shared memory at offset " + std::to_string(cell % cells_per_block * kCellBytes);
}

void check_write(std::size_t index, const Access& now) {
  const Cell& cell = cells[index];
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
  for (std::size_t warp = 0; warp < warps_per_block; ++warp) {
    const Access& read = reads[index * warps_per_block + warp];
    if (!before(read, now)) {
      report("race: overwrites " + at(index) + ", which " + whose(read) + " reads; " +
                 what_is_missing(read, now),
             now.where);
    }
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

void order_begin(const Cluster& cluster) {
  const Block& one = cluster.blocks.front();
  warps_per_block = one.warps.size();
  cells_per_block = (one.smem_bytes + kCellBytes - 1) / kCellBytes;
  const std::size_t warps = cluster.blocks.size() * warps_per_block;
  cells.assign(cluster.blocks.size() * cells_per_block, {});
  reads.assign(cells.size() * warps_per_block, {});
  seen.assign(warps, std::vector<uint32_t>(warps, 0));
  for (std::size_t w = 0; w < warps; ++w) seen[w][w] = 1;
  meetings.assign(warps, 0);
}

void order_read(const std::byte* place, std::size_t bytes, bool by_all_lanes, const Where& where) {
  const Access now = access_now(by_all_lanes ? kAllLanes : current->lane, where);
  each_cell(place, bytes, [&](std::size_t index) {
    const Cell& cell = cells[index];
    if (cell.copying != nullptr) {
      report("race: reads " + at(index) + ", which a cp.async issued at " + describe(cell.copy_issued) +
                 " may still be filling",
             where);
    }
    if (cell.write.clock == 0) report("reads " + at(index) + ", which was never written", where);
    if (!before(cell.write, now)) {
      report("race: reads " + at(index) + ", which " + whose(cell.write) + " writes; " +
                 what_is_missing(cell.write, now),
             where);
    }
    Access& read = reads[index * warps_per_block + static_cast<std::size_t>(now.warp) % warps_per_block];
    // Two lanes that read between the same meetings become "all lanes": a writer must then meet the warp.
    const bool joins_another =
        read.clock == now.clock && read.meetings == now.meetings && read.lane != now.lane;
    read = now;
    if (joins_another) read.lane = kAllLanes;
  });
}

void order_write(const std::byte* place, std::size_t bytes, const Where& where) {
  const Access now = access_now(current->lane, where);
  each_cell(place, bytes, [&](std::size_t index) {
    check_write(index, now);
    cells[index].write = now;
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
    cells[index].copying = nullptr;
    cells[index].write = now;
  });
}

void order_block_met(const Block& block) {
  std::vector<uint32_t> all(seen.front().size(), 0);
  for (const Warp& warp : block.warps) {
    const auto& its = seen[number_of(warp)];
    std::transform(all.begin(), all.end(), its.begin(), all.begin(),
                   [](uint32_t a, uint32_t b) { return std::max(a, b); });
  }
  for (const Warp& warp : block.warps) {
    const std::size_t number = number_of(warp);
    seen[number] = all;
    ++seen[number][number];
    order_warp_met(warp);
  }
}

void order_warp_met(const Warp& warp) { ++meetings[number_of(warp)]; }

void order_mbarrier_made(Mbarrier& barrier) {
  barrier.number = static_cast<int16_t>(seen.front().size());
  for (auto& clock : seen) clock.push_back(0);
}

void order_store_issued(const Place& to, std::size_t bytes, const Mbarrier& barrier, const Where& where) {
  const Access now = access_now(current->lane, where);
  each_cell(*to.block, to.data, bytes, [&](std::size_t index) {
    check_write(index, now);
    cells[index].write = {static_cast<uint32_t>(barrier.phase) + 1, 0, barrier.number, kAllLanes, where};
  });
}

void order_mbarrier_waited(const Mbarrier& barrier) {
  uint32_t& known = seen[number_of(*current->warp)][static_cast<std::size_t>(barrier.number)];
  known = std::max(known, static_cast<uint32_t>(barrier.phase));
}

}  // namespace flashmoe::model

#endif

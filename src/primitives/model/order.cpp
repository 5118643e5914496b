// SPDX-License-Identifier: MIT
// A vector clock per warp, and for every 4 bytes of shared memory who wrote and read it last, and when.
// Between warps a meeting of both is needed; between lanes of one warp a meeting of the warp.
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
  int16_t warp = 0;
  int16_t lane = 0;
  Where where{};
};

struct Cell {
  Access write;
  const Thread* copying = nullptr;  // whose cp.async is under way
  Where copy_issued{};
};

const std::byte* base = nullptr;
std::vector<Cell> cells;
std::vector<Access> reads;                // [cell][warp]
std::vector<std::vector<uint32_t>> seen;  // [warp][other warp]: what of the other is before this one
std::vector<uint32_t> meetings;           // [warp]

Access access_now(int lane, const Where& where) {
  const auto warp = static_cast<std::size_t>(current->warp->index);
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
  const std::string lane = access.lane == kAllLanes ? "all lanes" : "lane " + std::to_string(access.lane);
  return "warp " + std::to_string(access.warp) + ", " + lane + " near " + describe(access.where);
}

const char* what_is_missing(const Access& earlier, const Access& now) {
  return earlier.warp == now.warp ? "no sync_warp between the two" : "no barrier between the two";
}

std::string at(std::size_t cell) { return "shared memory at offset " + std::to_string(cell * kCellBytes); }

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
  for (std::size_t warp = 0; warp < seen.size(); ++warp) {
    const Access& read = reads[index * seen.size() + warp];
    if (!before(read, now)) {
      report("race: overwrites " + at(index) + ", which " + whose(read) + " reads; " +
                 what_is_missing(read, now),
             now.where);
    }
  }
}

template <class Each>
void each_cell(const std::byte* place, std::size_t bytes, Each each) {
  const auto first = static_cast<std::size_t>(place - base) / kCellBytes;
  const auto last = (static_cast<std::size_t>(place - base) + bytes - 1) / kCellBytes;
  for (std::size_t index = first; index <= last; ++index) each(index);
}

}  // namespace

void order_begin(const Block& block) {
  const std::size_t warps = block.warps.size();
  base = block.smem;
  cells.assign((block.smem_bytes + kCellBytes - 1) / kCellBytes, {});
  reads.assign(cells.size() * warps, {});
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
    Access& read = reads[index * seen.size() + static_cast<std::size_t>(now.warp)];
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
  std::vector<uint32_t> all(seen.size(), 0);
  for (std::size_t w = 0; w < seen.size(); ++w) all[w] = seen[w][w];
  for (std::size_t w = 0; w < seen.size(); ++w) {
    seen[w] = all;
    ++seen[w][w];
  }
  for (const Warp& warp : block.warps) order_warp_met(warp);
}

void order_warp_met(const Warp& warp) { ++meetings[static_cast<std::size_t>(warp.index)]; }

}  // namespace flashmoe::model

#endif

// SPDX-License-Identifier: MIT
// Tiles of a tensor, moved asynchronously. A late load lands when no thread can go on; until then its
// destination holds NaN patterns. A store takes effect in two steps: it reads shared memory, and later it
// writes global memory.
#include "primitives/model/tma.h"

#include <algorithm>
#include <cstring>

#include "primitives/model/mbarrier.h"
#include "primitives/model/order.h"
#include "primitives/model/reports.h"
#include "primitives/model/swizzle.h"

namespace flashmoe::model {
namespace {

using gpu::TensorMap;
using gpu::TensorMapShape;
using Coordinates = std::array<int, gpu::kMaxMapRank>;

constexpr int kElementBytes = 2;
constexpr std::size_t kPiece = 16;  // bytes that the swizzle moves together
constexpr const char* kWaitsForStores = "a wait for TMA stores";

struct Tile {
  TensorMapShape map;  // a copy, since the kernel's parameter may be gone when the tile moves
  Coordinates first;
  Block* block;
  uint32_t address;  // shared address
  Where where;
  uint64_t issued;  // step of issue, for the trace

  std::size_t bytes() const {
    std::size_t count = kElementBytes;
    for (int i = 0; i < map.rank; ++i)
      count *= static_cast<std::size_t>(map.box_dim[static_cast<std::size_t>(i)]);
    return count;
  }
  std::string says(const char* what) const { return std::string(what) + " at " + describe(where); }
};

// Calls each(shared, global, bytes) for every 16 bytes of the tile. `bytes` of them lie inside the tensor (0
// to 16).
template <class Each>
void each_piece(const Tile& tile, Each each) {
  const TensorMapShape& map = tile.map;
  const std::size_t row_bytes = static_cast<std::size_t>(map.box_dim[0]) * kElementBytes;
  const std::size_t rows = tile.bytes() / row_bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t rest = row;
    int64_t offset = 0;
    bool inside = true;
    for (std::size_t i = 1; i < static_cast<std::size_t>(map.rank); ++i) {
      const auto width = static_cast<std::size_t>(map.box_dim[i]);
      const int64_t at = tile.first[i] + static_cast<int64_t>(rest % width);
      rest /= width;
      inside = inside && at >= 0 && at < map.sizes[i];
      offset += at * map.stride_bytes[i];
    }
    for (std::size_t piece = 0; piece < row_bytes; piece += kPiece) {
      const int64_t column = tile.first[0] + static_cast<int64_t>(piece) / kElementBytes;
      const int64_t left = inside && column >= 0 ? (map.sizes[0] - column) * kElementBytes : 0;
      const auto linear = static_cast<uint32_t>(tile.address + row * row_bytes + piece);
      std::byte* shared = tile.block->smem + (swizzled(linear, map.swizzle) - kSharedWindow);
      const auto count = static_cast<std::size_t>(left < 0 ? 0 : left > 16 ? 16 : left);
      each(shared, static_cast<const std::byte*>(map.data) + offset + column * kElementBytes, count);
    }
  }
}

Tile tile_of(const TensorMap& map, const Coordinates& first, int rank, uint32_t address, bool writes,
             const char* what, const Where& where) {
  note(what, where);
  if (map.shape.rank != rank) {
    report(std::string(what) + ": the map has " + std::to_string(map.shape.rank) + " dimensions", where);
  }
  if (address % 128 != 0) report(std::string(what) + ": the shared address is not a multiple of 128", where);
  if (first[0] % 8 != 0 && first[0] < 0) {
    report(
        std::string(what) + ": a tile that begins outside of the innermost dimension, not at a multiple of 8",
        where);
  }
  Tile tile{map.shape, first, current->block, address, where, tracing ? trace_now() : 0};
  shared_place_in(*current->block, address, 1, what, where);
  shared_place_in(*current->block, address + static_cast<uint32_t>(tile.bytes()) - 1, 1, what, where);
  each_piece(tile, [&](const std::byte*, const std::byte* global, std::size_t bytes) {
    if (bytes > 0) check_global(global, writes ? kPiece : bytes, writes, where);
  });
  return tile;
}

void load(const TensorMap& map, const Coordinates& first, int rank, uint32_t to, uint32_t barrier,
          const char* what, const Where& where) {
  const Tile tile = tile_of(map, first, rank, to, false, what, where);
  Mbarrier& told = mbarrier_to_tell(barrier, what, where);
  const bool late = settings().tma == CopyTime::late;
  each_piece(tile, [&](std::byte* shared, const std::byte*, std::size_t) {
    order_store_issued({tile.block, 0, shared}, kPiece, told, where);
    if (late) std::memset(shared, 0xFF, kPiece);
  });
  const auto land = [tile, &told, what] {
    if (tile.block->ended()) return tile.says(what) + " lands in a block that has ended";
    each_piece(tile, [&](std::byte* shared, const std::byte* global, std::size_t bytes) {
      if (bytes > 0) std::memcpy(shared, global, bytes);
      std::memset(shared + bytes, 0, kPiece - bytes);
    });
    if (tracing) trace_async(what, tile.where, *tile.block, tile.issued);
    return bytes_landed(told, tile.bytes(), tile.says(what));
  };
  run_async(settings().tma, land, where);
}

// Writes whole 16-byte pieces even if the tensor's innermost dimension ends inside one, as an H200 does.
void store(const TensorMap& map, const Coordinates& first, int rank, uint32_t from, const char* what,
           const Where& where) {
  const Tile tile = tile_of(map, first, rank, from, true, what, where);
  // On an H200, a store with a negative coordinate is an illegal instruction, though a load is not.
  if (std::any_of(first.begin(), first.end(), [](int at) { return at < 0; }))
    report(std::string(what) + ": a tile that begins before the tensor", where);
  const std::size_t group = begin_tma_store();
  each_piece(tile, [&](const std::byte* shared, const std::byte*, std::size_t) {
    order_async_read(Reader::tma_store, shared, kPiece, group + 1, where);
  });
  auto data = std::make_shared<std::vector<std::byte>>();
  const auto read = [tile, data] {
    each_piece(tile, [&](const std::byte* shared, const std::byte*, std::size_t) {
      data->insert(data->end(), shared, shared + kPiece);
    });
  };
  const auto write = [tile, data, what] {
    const std::byte* piece = data->data();
    each_piece(tile, [&](const std::byte*, const std::byte* global, std::size_t bytes) {
      if (bytes > 0) std::memcpy(const_cast<std::byte*>(global), piece, kPiece);
      piece += kPiece;
    });
    if (tracing) trace_async(what, tile.where, *tile.block, tile.issued);
  };
  perform_tma_store(group, read, write, where);
}

}  // namespace

std::size_t begin_tma_store() {
  if (!current->tma_group_open) {
    current->tma_stores.push_back({});
    current->tma_group_open = true;
  }
  ++current->tma_stores.back().reading;
  ++current->tma_stores.back().writing;
  return current->tma_stores.size() - 1;
}

void perform_tma_store(std::size_t group, const std::function<void()>& read,
                       const std::function<void()>& write, const Where& where) {
  const auto perform = [group, read, write, thread = current] {
    const auto finish = [group, write, thread]() -> std::string {
      write();
      --thread->tma_stores[group].writing;
      if (thread->waits_for == kWaitsForStores) wake(*thread);
      return "";
    };
    read();
    --thread->tma_stores[group].reading;
    if (thread->waits_for == kWaitsForStores) wake(*thread);
    if (settings().tma == CopyTime::early) return finish();
    thread->block->cluster->pending.push_back(finish);
    return std::string();
  };
  run_async(settings().tma, perform, where);
}

void wait_for_tma_stores(std::size_t pending, TmaStoreEnd end, const Where& where) {
  note(end == TmaStoreEnd::read ? "tma_store_wait_read" : "tma_store_wait", where);
  if (current->tma_group_open && pending == 0) {
    report("a wait for TMA stores: this thread has issued stores that it never committed", where);
  }
  const std::size_t closed = current->tma_stores.size() - (current->tma_group_open ? 1 : 0);
  const std::size_t done = closed > pending ? closed - pending : 0;
  for (std::size_t group = 0; group < done; ++group) {
    const TmaStores& stores = current->tma_stores[group];
    while ((end == TmaStoreEnd::read ? stores.reading : stores.writing) > 0) wait(kWaitsForStores, where);
  }
  if (done > current->tma_stores_waited) current->tma_stores_waited = done;
  order_waited_for(Reader::tma_store, done);
}

void check_tma_stores_at_end(const Thread& thread) {
  if (thread.tma_stores_waited == thread.tma_stores.size()) return;
  report("a thread ends with TMA stores that may still read shared memory: it never waited for them",
         thread.last);
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void tma_load_4d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3,
                 const model::Where& where) {
  model::load(map, {c0, c1, c2, c3}, 4, to, barrier, "tma_load_4d", where);
}

void tma_load_5d(uint32_t to, const TensorMap& map, uint32_t barrier, int c0, int c1, int c2, int c3, int c4,
                 const model::Where& where) {
  model::load(map, {c0, c1, c2, c3, c4}, 5, to, barrier, "tma_load_5d", where);
}

void tma_store_4d(const TensorMap& map, uint32_t from, int c0, int c1, int c2, int c3,
                  const model::Where& where) {
  model::store(map, {c0, c1, c2, c3}, 4, from, "tma_store_4d", where);
}

void tma_store_5d(const TensorMap& map, uint32_t from, int c0, int c1, int c2, int c3, int c4,
                  const model::Where& where) {
  model::store(map, {c0, c1, c2, c3, c4}, 5, from, "tma_store_5d", where);
}

void tma_store_commit(const model::Where& where) {
  model::note("tma_store_commit", where);
  model::current->tma_group_open = false;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

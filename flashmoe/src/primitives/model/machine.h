// SPDX-License-Identifier: MIT
// The model's inside: blocks, warps and threads, how they wait and how they are woken. Twins of primitives
// are written in these terms; kernels and tests never see them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "primitives/launch_shape.h"
#include "primitives/model/fiber.h"
#include "primitives/model/settings.h"
#include "primitives/model/trace.h"

namespace flashmoe::model {

using Where = std::source_location;
using Clock = std::vector<uint32_t>;  // of order.h: what is known of every warp, and of more

struct Block;
struct Cluster;
struct Warp;
struct Warpgroup;  // wgmma.cpp

// One cp.async that has not taken effect.
struct Copy {
  std::byte* to;
  const std::byte* from;
  int bytes;       // from memory; zeros up to 16
  uint64_t group;  // the commit group of its thread
};

// One group of a thread's TMA stores.
struct TmaStores {
  int reading = 0;  // that have not read shared memory
  int writing = 0;  // that have not written global memory
};

// What every switch touches comes first, in two lines of the cache.
struct alignas(64) Thread {
  Fiber fiber;
  Block* block = nullptr;
  Warp* warp = nullptr;
  int index = 0;
  int lane = 0;
  bool exited = false;
  bool may_touch_global = true;  // false before its wait for the kernel that a programmatic launch overlaps
  const char* waits_for = nullptr;  // null while it can run
  int waits_parity = -1;
  int64_t waits_on = -1;     // which barrier, by number or shared offset
  Where where{};             // of the wait
  Where last{};              // of the last primitive it called, for accesses that have no place of their own
  std::size_t events = 0;    // of its warp's in the trace that it has passed
  std::vector<Copy> copies;  // in the order of issue
  uint64_t copy_groups = 0;  // committed so far
  uint64_t cluster_arrivals = 0;  // at the cluster's barrier
  uint64_t cluster_waits = 0;     // begun; one behind between an arrival and its wait
  uint64_t proxy_fences = 0;
  int registers = 0;
  std::vector<TmaStores> tma_stores;     // by group
  bool tma_group_open = false;           // the last one
  std::size_t tma_stores_waited = 0;     // groups, for their reads
  uint64_t products = 0;                 // wgmmas issued
  std::vector<uint64_t> product_groups;  // committed: wgmmas issued by then
  uint64_t products_waited = 0;
  bool products_fenced = false;  // no wait since the last wgmma_fence
};

// One warp-wide operation that some lanes have reached and others not.
struct Collective {
  const char* name = nullptr;  // null: none pending
  void (*perform)(void* const* arguments) = nullptr;
  uint32_t arrived = 0;
  std::array<void*, 32> arguments{};
  Where where{};
};

struct Warp {
  Block* block = nullptr;
  Thread* const* threads = nullptr;  // by lane
  int index = 0;
  uint32_t lanes = 0;  // that exist
  uint32_t runnable = 0;
  uint32_t exited = 0;
  int priority = 0;
  Collective collective;
  std::vector<std::size_t> events{};  // its own in the trace
};

struct BlockBarrier {
  int arrived = 0;
  std::vector<Thread*> waiting;
};

struct NamedBarrier {
  int threads = 0;  // that it waits for; 0 while nobody has come
  int arrived = 0;
  std::vector<Thread*> waiting{};
  Clock clock{};   // of those who have come
  Clock opened{};  // of those who came when it last opened
  Where where{};   // of the first arrival
};

// A barrier in shared memory. A phase ends when all arrivals have come, and all bytes that they announced.
struct Mbarrier {
  uint32_t arrivals = 0;  // per phase
  uint32_t pending = 0;   // still to come in this phase
  int64_t bytes = 0;      // announced and still to land; below 0 when they land before they are announced
  uint64_t phase = 0;
  const Thread* init_by = nullptr;
  const Thread* fenced_by = nullptr;  // by fence_mbarrier_init
  uint64_t published_by = 0;  // the meeting of the cluster before which peers can't know of it; 0: none yet
  std::vector<Thread*> waiting{};
  Where where{};  // of its init

  // For order.h
  struct Wait {
    uint64_t phase = 0;  // that had been reached
    uint32_t clock = 0;
    Where where{};
  };
  int16_t number = 0;                     // among the components of clocks
  Clock arriving{};                       // of all arrivals so far
  Clock completed{};                      // of those that ended a phase
  std::vector<Wait> last_waits{};         // by warp
  std::vector<uint64_t> last_arrivals{};  // by thread: the phase after the one it arrived in; 0: it has not
};

struct Block {
  Block();
  Block(Block&&) noexcept;
  ~Block();

  unsigned x = 0, y = 0, z = 0;
  Cluster* cluster = nullptr;
  unsigned rank = 0;  // in the cluster
  std::size_t exited = 0;
  std::map<uint32_t, Mbarrier> mbarriers{};  // by shared address
  std::byte* smem = nullptr;
  std::size_t smem_bytes = 0;
  std::vector<Warp> warps;
  std::vector<Thread*> threads;
  BlockBarrier barrier;
  std::array<NamedBarrier, 16> named_barriers{};
  int free_registers = 0;  // per lane, of the whole block
  std::vector<Thread*> waiting_for_registers{};
  std::vector<std::unique_ptr<Warpgroup>> warpgroups{};

  bool ended() const { return exited == threads.size(); }
};

// A place in the shared memory of one of the cluster's blocks.
struct Place {
  Block* block;
  uint32_t address;  // as that block knows it
  std::byte* data;
};

// An asynchronous operation that has not taken effect: performs it, and returns what is wrong or
// "".
using Pending = std::function<std::string()>;

// Blocks that run at the same time. A launch without clusters runs clusters of one.
struct Cluster {
  std::vector<Block> blocks{};
  int arrived = 0;  // at the barrier
  uint64_t meetings = 0;
  std::vector<Thread*> waiting{};
  std::vector<Pending> pending{};

  int threads() const { return static_cast<int>(blocks.size() * blocks.front().threads.size()); }
};

// The thread that runs now. Null outside of kernels.
extern Thread* current;

// Shared memory of the current thread's block with the guards around it, for the hooks of plain accesses.
// Empty outside of kernels.
struct Watched {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};
extern Watched watched;

// The current thread calls a primitive; `offset` is a place in shared memory where one matters. For reports,
// and for the trace when there is one.
inline void note(const char* what, const Where& where, int64_t offset = -1) {
  current->last = where;
  if (tracing) trace_event(what, where, offset);
}

// The current thread lets others go on first.
void yield();

// Fresh warpgroups for a block; they live in wgmma.cpp.
void prepare_warpgroups(Block& block);

// The current thread stops until wake(); `on` says which barrier, if there are many.
void wait(const char* what, const Where& where, int64_t on = -1, int parity = -1);
void wake(Thread& thread);
void wake_lanes(Warp& warp, uint32_t lanes);

// All lanes meet here; the last one performs the operation for all, with each lane's arguments.
void meet(const char* name, void (*perform)(void* const* arguments), void* arguments, const Where& where);

// Ends the run: launch() throws Failure with this text. Called by the current thread.
[[noreturn]] void report(const std::string& what, const Where& where);

// Checks that [data, data + bytes) lies in allowed memory, and that the current thread may touch it by now.
void check_global(const void* data, std::size_t bytes, bool write, const Where& where);

// The place in the block's shared memory that a 32-bit address names; it must hold `bytes` and be aligned to
// them.
std::byte* shared_place(uint32_t address, std::size_t bytes, const char* what, const Where& where);

std::byte* shared_place_in(const Block& block, uint32_t address, std::size_t bytes, const char* what,
                           const Where& where);

// The same for an address made by mapa; the block must not have ended.
Place remote_place(uint32_t address, std::size_t bytes, const char* what, const Where& where);
inline constexpr int kRankShift = 24;  // mapa puts rank + 1 above

// The current thread has issued something: performed at once if early, else when no thread of the cluster can
// go on.
void run_async(CopyTime time, Pending perform, const Where& where);

// The current thread, or the last thread of a block, ends: reports what it should not leave behind.
void check_cluster_at_end(const Thread& thread);
void check_tma_stores_at_end(const Thread& thread);
void check_products_at_end(const Thread& thread);
void check_mbarriers_at_end(const Block& block);

// Shared addresses begin here, so that 0 and anything near it is an error.
inline constexpr uint32_t kSharedWindow = 0x400;

// Runs the grid to its end; `body` is the kernel with its arguments.
void run_grid(const gpu::LaunchShape& shape, const std::function<void()>& body);

}  // namespace flashmoe::model

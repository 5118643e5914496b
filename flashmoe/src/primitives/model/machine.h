// SPDX-License-Identifier: MIT
// State of the model: blocks, warps and threads, and how they wait and are woken. The model's versions of
// primitives use it; kernels and tests never see it.
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
using Clock = std::vector<uint32_t>;  // vector clock (order.h), by component

struct Block;
struct Cluster;
struct Warp;
struct Warpgroup;  // defined in wgmma.cpp

// One cp.async that has not landed yet.
struct Copy {
  std::byte* to;
  const std::byte* from;
  int bytes;       // read from memory; the rest of the 16 are zeros
  uint64_t group;  // the commit group of its thread
};

// One bulk group of a thread's TMA stores.
struct TmaStores {
  int reading = 0;  // stores that have still to read shared memory
  int writing = 0;  // stores that have still to write global memory
};

// Members that every context switch touches come first, in two cache lines.
struct alignas(64) Thread {
  Fiber fiber;
  Block* block = nullptr;
  Warp* warp = nullptr;
  int index = 0;
  int lane = 0;
  bool exited = false;
  bool may_touch_global = true;     // false until its griddepcontrol_wait() in a programmatic launch
  const char* waits_for = nullptr;  // null while it can run
  int waits_parity = -1;
  int64_t waits_on = -1;          // barrier number or shared offset
  Where where{};                  // where it began to wait
  Where last{};                   // its last primitive's call, to locate plain accesses in reports
  std::size_t events = 0;         // events of its warp in the trace that it has passed
  std::vector<Copy> copies;       // in the order of issue
  uint64_t copy_groups = 0;       // committed so far
  uint64_t cluster_arrivals = 0;  // at the cluster's barrier
  uint64_t cluster_waits = 0;     // begun; one less than arrivals between arrive and wait
  uint64_t proxy_fences = 0;
  int registers = 0;
  std::vector<TmaStores> tma_stores;     // by bulk group
  bool tma_group_open = false;           // whether the last group still takes stores
  std::size_t tma_stores_waited = 0;     // groups whose reads were waited for
  uint64_t products = 0;                 // wgmmas issued
  std::vector<uint64_t> product_groups;  // wgmmas issued before each commit
  uint64_t products_waited = 0;
  bool products_fenced = false;  // no wait since the last wgmma_fence
};

// One warp-wide operation that only some lanes have reached so far.
struct Collective {
  const char* name = nullptr;  // null: none is pending
  void (*perform)(void* const* arguments) = nullptr;
  uint32_t arrived = 0;
  std::array<void*, 32> arguments{};
  Where where{};
};

struct Warp {
  Block* block = nullptr;
  Thread* const* threads = nullptr;  // by lane
  int index = 0;
  uint32_t lanes = 0;  // lanes that exist
  uint32_t runnable = 0;
  uint32_t exited = 0;
  int priority = 0;
  Collective collective;
  std::vector<std::size_t> events{};  // this warp's events, as indices into the trace
};

struct BlockBarrier {
  int arrived = 0;
  std::vector<Thread*> waiting;
};

struct NamedBarrier {
  int threads = 0;  // threads it waits for; 0 before the first arrival
  int arrived = 0;
  std::vector<Thread*> waiting{};
  Clock clock{};   // joined clocks of the arrivals so far
  Clock opened{};  // joined clocks of the arrivals when it last opened
  Where where{};   // location of the first arrival
};

// An mbarrier. A phase ends when all arrivals and all announced bytes have come.
struct Mbarrier {
  uint32_t arrivals = 0;  // per phase
  uint32_t pending = 0;   // still to come in this phase
  int64_t bytes = 0;      // announced but not landed; negative if bytes land first
  uint64_t phase = 0;
  const Thread* init_by = nullptr;
  const Thread* fenced_by = nullptr;  // by fence_mbarrier_init
  uint64_t published_by = 0;          // cluster meeting after which peers know of it; 0: not fenced
  std::vector<Thread*> waiting{};
  Where where{};  // location of its init

  // For order.h
  struct Wait {
    uint64_t phase = 0;  // phase that the wait had reached
    uint32_t clock = 0;
    Where where{};
  };
  int16_t number = 0;                     // its component in vector clocks
  Clock arriving{};                       // joined clocks of all arrivals so far
  Clock completed{};                      // joined clocks of arrivals whose phase has ended
  std::vector<Wait> last_waits{};         // by warp
  std::vector<uint64_t> last_arrivals{};  // by thread: phase of its last arrival + 1; 0: none
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
  int free_registers = 0;  // per lane, of all warps together
  std::vector<Thread*> waiting_for_registers{};
  std::vector<std::unique_ptr<Warpgroup>> warpgroups{};

  bool ended() const { return exited == threads.size(); }
};

// An address in the shared memory of one of the cluster's blocks.
struct Place {
  Block* block;
  uint32_t address;  // as seen by that block
  std::byte* data;
};

// An asynchronous operation that is still in flight: performs it, and returns a description of what is wrong,
// or "".
using Pending = std::function<std::string()>;

// Blocks that run at the same time. A launch without clusters runs as clusters of one block.
struct Cluster {
  std::vector<Block> blocks{};
  int arrived = 0;  // threads at the barrier
  uint64_t meetings = 0;
  std::vector<Thread*> waiting{};
  std::vector<Pending> pending{};

  int threads() const { return static_cast<int>(blocks.size() * blocks.front().threads.size()); }
};

// The running thread; null outside kernels.
extern Thread* current;

// Shared memory of the running thread's block including its guards, which the hooks of plain accesses test
// against. Empty outside kernels.
struct Watched {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};
extern Watched watched;

// Records that the running thread calls primitive `what`, for reports and for the trace. `offset` is the
// shared-memory offset that the call concerns, or -1.
inline void note(const char* what, const Where& where, int64_t offset = -1) {
  current->last = where;
  if (tracing) trace_event(what, where, offset);
}

// Lets other threads run before the running thread continues.
void yield();

// Gives a block new warpgroups (defined in wgmma.cpp).
void prepare_warpgroups(Block& block);

// Suspends the running thread until wake(). `on` is the barrier's number or offset if there are several.
void wait(const char* what, const Where& where, int64_t on = -1, int parity = -1);
void wake(Thread& thread);
void wake_lanes(Warp& warp, uint32_t lanes);

// A warp-wide operation: the last lane to arrive performs it with the arguments of all lanes.
void meet(const char* name, void (*perform)(void* const* arguments), void* arguments, const Where& where);

// Ends the run because the running thread broke a rule: launch() throws Failure with this text.
[[noreturn]] void report(const std::string& what, const Where& where);

// Reports unless [data, data + bytes) is allowed memory that the running thread may touch already.
void check_global(const void* data, std::size_t bytes, bool write, const Where& where);

// Translates a 32-bit shared address of the running block to a pointer. Reports unless `bytes` bytes fit
// there and the address is aligned to `bytes`.
std::byte* shared_place(uint32_t address, std::size_t bytes, const char* what, const Where& where);

std::byte* shared_place_in(const Block& block, uint32_t address, std::size_t bytes, const char* what,
                           const Where& where);

// Translates an address made by mapa; reports if its block has ended.
Place remote_place(uint32_t address, std::size_t bytes, const char* what, const Where& where);
inline constexpr int kRankShift = 24;  // mapa stores rank + 1 above this bit

// Issues an asynchronous operation for the running thread: performed at once if `time` is early, otherwise
// when no thread of the cluster can go on.
void run_async(CopyTime time, Pending perform, const Where& where);

// Called when a thread ends (or a block's last thread does): report operations that are still in flight.
void check_cluster_at_end(const Thread& thread);
void check_tma_stores_at_end(const Thread& thread);
void check_products_at_end(const Thread& thread);
void check_mbarriers_at_end(const Block& block);

// The first shared address; above 0, so that 0 and small numbers are reported as errors.
inline constexpr uint32_t kSharedWindow = 0x400;

// Runs the grid to its end; `body` calls the kernel with its arguments.
void run_grid(const gpu::LaunchShape& shape, const std::function<void()>& body);

}  // namespace flashmoe::model

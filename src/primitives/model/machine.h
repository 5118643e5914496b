// SPDX-License-Identifier: MIT
// The model's inside: blocks, warps and threads, how they wait and how they are woken. Twins of primitives
// are written in these terms; kernels and tests never see them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "primitives/launch_shape.h"
#include "primitives/model/fiber.h"

namespace flashmoe::model {

using Where = std::source_location;

struct Block;
struct Warp;

// One cp.async that has not taken effect.
struct Copy {
  std::byte* to;
  const std::byte* from;
  int bytes;       // from memory; zeros up to 16
  uint64_t group;  // the commit group of its thread
};

struct Thread {
  Fiber fiber;
  Block* block = nullptr;
  Warp* warp = nullptr;
  int index = 0;
  int lane = 0;
  bool exited = false;
  const char* waits_for = nullptr;  // null while it can run
  Where where{};                    // of the wait
  Where last{};              // of the last primitive it called, for accesses that have no place of their own
  std::vector<Copy> copies;  // in the order of issue
  uint64_t copy_groups = 0;  // committed so far
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
  int index = 0;
  uint32_t lanes = 0;  // that exist
  uint32_t runnable = 0;
  uint32_t exited = 0;
  int priority = 0;
  Collective collective;
};

struct BlockBarrier {
  int arrived = 0;
  std::vector<Thread*> waiting;
};

struct Block {
  unsigned x = 0, y = 0;
  std::byte* smem = nullptr;
  std::size_t smem_bytes = 0;
  std::vector<Warp> warps;
  std::vector<Thread*> threads;
  BlockBarrier barrier;
};

// The thread that runs now. Null outside of kernels.
extern Thread* current;

// The current thread stops until wake().
void wait(const char* what, const Where& where);
void wake(Thread& thread);

// All lanes meet here; the last one performs the operation for all, with each lane's arguments.
void meet(const char* name, void (*perform)(void* const* arguments), void* arguments, const Where& where);

// Ends the run: launch() throws Failure with this text. Called by the current thread.
[[noreturn]] void report(const std::string& what, const Where& where);

// Checks that [data, data + bytes) lies in allowed memory.
void check_global(const void* data, std::size_t bytes, bool write, const Where& where);

// The place in the block's shared memory that a 32-bit address names; it must hold `bytes` and be aligned to
// them.
std::byte* shared_place(uint32_t address, std::size_t bytes, const char* what, const Where& where);

// Zones before and behind a block's shared memory that nothing may touch.
inline constexpr std::size_t kGuardBytes = 1024;

// Shared addresses begin here, so that 0 and anything near it is an error.
inline constexpr uint32_t kSharedWindow = 0x400;

// Runs the grid to its end; `body` is the kernel with its arguments.
void run_grid(const gpu::LaunchShape& shape, const std::function<void()>& body);

}  // namespace flashmoe::model

// SPDX-License-Identifier: MIT
#include "model/mutants/taken_out.h"

#include <algorithm>
#include <cstring>

#include "model/mutants/registry.h"

namespace flashmoe::test {
namespace {

const Line* taken_out = nullptr;

// Statements that can be taken out, and why. `which` counts those of one text in a file, from 0.
struct Harmless {
  const char* kernel;  // with which its name begins
  const char* file;
  const char* text;
  int which;
  const char* why;
};

constexpr Harmless kHarmless[] = {
    {"small_forward", "kernel.cuh", "gpu::sync_warp()", 2,
     "the partial output takes the place of K, which no lane reads behind the meeting for V"},
    {"decode_forward", "kernel.cuh", "gpu::sync_warp()", 3,
     "brings the lanes together again before they arrive at the cluster's barrier, as hardware wants it; "
     "each "
     "arrives for itself on the model"},
    {"decode_forward", "maths.cuh", "gpu::sync_warp()", 0,
     "the partial output takes the place of the ring's first slot, which the last step's own meeting has "
     "come after"},
    {"hopper_forward", "kernel.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_forward", "rows.cuh", "gpu::sync_warp()", 0,
     "behind ldmatrix, which has read for all lanes when it returns to one"},
    {"hopper_forward", "rows.cuh", "gpu::sync_warp()", 1,
     "orders lanes of one warp that wait for the same phase; the model takes a warp's waits for one"},
    {"hopper_forward", "persistent.cuh", "rows_.release_values()", 2,
     "the last release: nobody loads any more"},
    {"hopper_forward", "persistent.cuh", "rows_.wait_for_turn()", 1,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward", "rows.cuh", "gpu::named_barrier_sync(number(Barrier::turn", 0,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward at 128", "persistent.cuh", "rows_.release_queries()", 0, "Q is in registers"},
    {"hopper_backward", "steps.cuh", "gpu::sync_warp()", 0,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "steps.cuh", "gpu::sync_warp()", 1,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "steps.cuh", "keys.wait_full(keys.smem.first_is_ahead", 0,
     "a head start is for speed: no data hangs on it"},
    {"hopper_backward", "kernel.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_backward", "reduce.cuh", "gpu::wait_for_count", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::fence_proxy_async_global()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::fence_proxy_async_global()", 1,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::tma_store_wait<0>()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 0,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 1,
     "brings the lanes together again before the warp arrives, as hardware wants it; each arrives for itself "
     "on the model"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 2,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "persistent.cuh", "gpu::sync_warp()", 1,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "persistent.cuh", "gpu::sync_warp()", 2,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "persistent.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_backward at 256", "keys.cuh", "gpu::wgmma_fence()", 1,
     "no wait lies between it and that of the dQ issued before"},
    {"hopper_backward at 256", "keys.cuh", "gpu::named_barrier_sync(number(Barrier::math", 0,
     "the last step's barrier lies behind all reads of the other warpgroup's columns of K and V"},
    {"hopper_backward at 256", "steps.cuh", "keys.wait_for_turn()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward at 256", "keys.cuh", "gpu::named_barrier_sync(number(Barrier::dq_free", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::wait_for_count", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::sync_block()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::sync_block()", 1,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward at 64, general", "kernel.cuh", "gpu::sync_block()", 3,
     "one thread goes on from the number to the place, which all wait for"},
    {"naive_backward", "kernel.cuh", "gpu::sync_block()", 5,
     "accumulate()'s barriers lie behind the reads of the statistics before"},
    {"naive_backward", "kernel.cuh", "gpu::sync_block()", 6,
     "multiply()'s barriers lie before the reads of these statistics"},
    {"hopper_forward in pairs", "load.cuh", "gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free", 0,
     "one tile: the slot is free"},
    {"hopper_forward in pairs", "store.cuh", "gpu::tma_store_wait_read", 0,
     "one tile: nothing was stored before"},
    {"hopper_forward in pairs", "store.cuh", "sync_warpgroup()", 0, "one tile: nothing was stored before"},
    {"hopper_forward in pairs", "rows.cuh", "wait_full(full, ring)", 0,
     "one tile: what is passed over are first stages, at whose barriers nobody has arrived before"},
    {"hopper_forward with shares", "rows.cuh", "wait_full(full, ring)", 0,
     "one tile: what is passed over are first stages, at whose barriers nobody has arrived before"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_values()", 1,
     "the last release: nobody loads any more"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_turn()", 0,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward with shares", "load.cuh", "gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free",
     0, "one tile: the slot is free"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_stores()", 0,
     "partial outputs leave from registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_queries()", 0, "Q is in registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_loaded_queries()", 0,
     "one tile: nobody loads another Q"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 0, "Q is in shared memory"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 1, "Q is in shared memory"},
    {"hopper_forward with shares", "rows.cuh", "gpu::mbarrier_arrive(gpu::shared_address(&smem.q_free", 0,
     "one tile: nobody loads another Q"},
};

}  // namespace

std::set<Line>& reached_lines() {
  static std::set<Line> lines;
  return lines;
}

WithoutLine::WithoutLine(const Line& line) { taken_out = &line; }
WithoutLine::~WithoutLine() { taken_out = nullptr; }

bool is_taken_out(const char* file, int line, const char* text) {
  const char* slash = std::strrchr(file, '/');
  const char* name = slash == nullptr ? file : slash + 1;
  if (taken_out == nullptr) {
    reached_lines().insert({name, line, text});
    return false;
  }
  return taken_out->number == line && taken_out->file == name;
}

std::string why_harmless(const std::string& kernel, const std::set<Line>& lines, const Line& line) {
  for (const Harmless& h : kHarmless) {
    if (!kernel.starts_with(h.kernel) || line.file != h.file || !line.text.starts_with(h.text)) continue;
    const auto before = std::count_if(lines.begin(), lines.end(), [&](const Line& other) {
      return other.file == line.file && other.text == line.text && other.number < line.number;
    });
    if (before == h.which) return h.why;
  }
  return "";
}

}  // namespace flashmoe::test

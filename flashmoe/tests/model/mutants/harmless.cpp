// SPDX-License-Identifier: MIT
#include "model/mutants/harmless.h"

#include <algorithm>

namespace flashmoe::test {
namespace {

// `which` counts the statements of one text in a file that a form's cases come to, from 0.
struct Harmless {
  const char* form;  // with which its name begins
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
    {"hopper_forward", "persistent.cuh", "rows_.release_values()", 2, "the last release: no load follows"},
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
     "one tile: what is passed over are first stages, at whose barriers no thread has arrived before"},
    {"hopper_forward with shares", "rows.cuh", "wait_full(full, ring)", 0,
     "one tile: what is passed over are first stages, at whose barriers no thread has arrived before"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_values()", 1,
     "the last release: no load follows"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_turn()", 0,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward with shares", "load.cuh", "gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free",
     0, "one tile: the slot is free"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_stores()", 0,
     "partial outputs leave from registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_queries()", 0, "Q is in registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_loaded_queries()", 0,
     "one tile: no other Q is loaded"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 0, "Q is in shared memory"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 1, "Q is in shared memory"},
    {"hopper_forward with shares", "rows.cuh", "gpu::mbarrier_arrive(gpu::shared_address(&smem.q_free", 0,
     "one tile: no other Q is loaded"},
};

}  // namespace

std::string why_harmless(const std::string& form, const std::vector<Statement>& reached,
                         const Statement& statement) {
  for (const Harmless& h : kHarmless) {
    if (!form.starts_with(h.form) || statement.file != h.file || !statement.text.starts_with(h.text))
      continue;
    const auto before = std::count_if(reached.begin(), reached.end(), [&](const Statement& other) {
      return other.file == statement.file && other.text == statement.text && other.line < statement.line;
    });
    if (before == h.which) return h.why;
  }
  return "";
}

}  // namespace flashmoe::test

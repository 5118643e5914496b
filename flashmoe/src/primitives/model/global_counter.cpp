// SPDX-License-Identifier: MIT
#include "primitives/model/global_counter.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

constexpr const char* kWaitsForCount = "wait_for_count";

void wake_waiting() {
  for (const model::Block& block : model::current->block->cluster->blocks) {
    for (model::Thread* thread : block.threads) {
      if (thread->waits_for == kWaitsForCount) model::wake(*thread);
    }
  }
}

// Only one block waits for each value of a counter; a counter beyond it means that two blocks share a turn.
bool reached(const int* counter, int value, const model::Where& where) {
  model::check_global(counter, sizeof *counter, false, where);
  if (*counter > value && !model::settings().turns_pass)
    model::report("the counter is past the value that is waited for", where);
  return *counter >= value;
}

}  // namespace

int fetch_increment(int* counter, const model::Where& where) {
  model::note("fetch_increment", where);
  model::yield();  // another thread may increment it first
  model::check_global(counter, sizeof *counter, true, where);
  const int before = (*counter)++;
  wake_waiting();
  return before;
}

void increment_release(int* counter, const model::Where& where) {
  model::note("increment_release", where);
  model::check_global(counter, sizeof *counter, true, where);
  ++*counter;
  wake_waiting();
}

void add_global(float* to, float value, const model::Where& where) {
  model::note("add_global", where);
  model::check_global(to, sizeof value, true, where);
  *to += value;
}

void add_global(float* to, const float (&value)[4], const model::Where& where) {
  model::note("add_global", where);
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0)
    model::report("add_global: the address is not a multiple of 16", where);
  model::check_global(to, sizeof value, true, where);
  for (int i = 0; i < 4; ++i) to[i] += value[i];
}

bool has_count(const int* counter, int value, const model::Where& where) {
  model::note("has_count", where);
  return reached(counter, value, where);
}

void wait_for_count(const int* counter, int value, const model::Where& where) {
  model::note(kWaitsForCount, where);
  while (!reached(counter, value, where)) model::wait(kWaitsForCount, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

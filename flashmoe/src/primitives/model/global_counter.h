// SPDX-License-Identifier: MIT
// The model runs clusters one after the other, in any order, so a wait for a block that has not started can
// never end; the model reports it as a deadlock.
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

int fetch_increment(int* counter, const model::Where& where = model::Where::current());
void increment_release(int* counter, const model::Where& where = model::Where::current());
void add_global(float* to, float value, const model::Where& where = model::Where::current());
void add_global(float* to, const float (&value)[4], const model::Where& where = model::Where::current());
bool has_count(const int* counter, int value, const model::Where& where = model::Where::current());
void wait_for_count(const int* counter, int value, const model::Where& where = model::Where::current());

inline void fence_proxy_async_global(const model::Where& where = model::Where::current()) {
  model::note("fence_proxy_async_global", where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

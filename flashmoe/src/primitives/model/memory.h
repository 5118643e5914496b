// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void check_alignment(const void* address, std::size_t bytes, const model::Where& where) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  model::report(
      "a global access of " + std::to_string(bytes) + " bytes whose address is not a multiple of it", where);
}

template <class T>
T load_global(const T* from, const model::Where& where = model::Where::current()) {
  model::note("load_global", where);
  check_alignment(from, sizeof(T), where);
  model::check_global(from, sizeof(T), false, where);
  return *from;
}

template <class T>
void store_global(T* to, T value, const model::Where& where = model::Where::current()) {
  model::note("store_global", where);
  check_alignment(to, sizeof(T), where);
  model::check_global(to, sizeof(T), true, where);
  *to = value;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

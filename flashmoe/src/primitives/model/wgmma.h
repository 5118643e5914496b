// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "numeric/half.h"
#include "primitives/model/machine.h"
#include "primitives/model/wgmma_operands.h"
#include "primitives/platform.h"

namespace flashmoe::model {
void issue_product(const ProductOperands& operands, float* sums, const uint32_t* a, const Where& where);
void wait_for_products(std::size_t pending, const Where& where);
}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline constexpr bool kHasWgmma = true;

template <class T, bool kBAcrossK, bool kAAcrossK = false, int kRegisters>
void wgmma_ss(float (&d)[kRegisters], uint64_t a, uint64_t b, bool accumulate,
              const model::Where& where = model::Where::current()) {
  static_assert(kRegisters % 4 == 0 && kRegisters <= 128);
  model::issue_product(
      {std::is_same_v<T, bf16>, 2 * kRegisters, false, a, kAAcrossK, b, kBAcrossK, accumulate}, d, nullptr,
      where);
}

template <class T, bool kBAcrossK, int kRegisters>
void wgmma_rs(float (&d)[kRegisters], const uint32_t (&a)[4], uint64_t b, bool accumulate,
              const model::Where& where = model::Where::current()) {
  static_assert(kRegisters % 4 == 0 && kRegisters <= 128);
  model::issue_product({std::is_same_v<T, bf16>, 2 * kRegisters, true, 0, false, b, kBAcrossK, accumulate}, d,
                       a, where);
}

void wgmma_fence(const model::Where& where = model::Where::current());
void wgmma_commit(const model::Where& where = model::Where::current());

template <int kPending>
void wgmma_wait(const model::Where& where = model::Where::current()) {
  model::wait_for_products(kPending, where);
}

template <class Registers>
void pin(Registers&) {}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

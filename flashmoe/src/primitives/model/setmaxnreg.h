// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::model {
void give_registers(int keep, const Where& where);
void take_registers(int want, const Where& where);
}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <int kRegisters>
void setmaxnreg_dec(const model::Where& where = model::Where::current()) {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  model::give_registers(kRegisters, where);
}

template <int kRegisters>
void setmaxnreg_inc(const model::Where& where = model::Where::current()) {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  model::take_registers(kRegisters, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
